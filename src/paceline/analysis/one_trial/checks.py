"""Checks that must hold before a trial's figures may be believed; a broken check makes the trial ``invalid``."""

import math
from collections.abc import Iterator
from itertools import combinations

from paceline.analysis.one_trial.metrics import window_ns
from paceline.schema.conditions import Policy
from paceline.schema.records import RankRecord
from paceline.schema.trial import Cell, Status
from paceline.schema.trial_records import TrialRecords

UNEXPLAINED_SHARE = 0.02
"""Largest share of a window that the steps of the busiest rank may leave unexplained. Where more is missing, the clock
of a step was read before the device had finished its work."""
UNEXPLAINED_FLOOR_NS = 50_000_000
"""Unexplained time that every window may have: two barriers and a few clock reads, with a rank taken off its core
meanwhile. A clock that does not wait for the device misses far more."""


def divergence(records: TrialRecords) -> str | None:
    """Return where the first loss that is not finite was recorded, in words, or None."""
    for job_id, ranks in records.ranks.items():
        for rank in ranks:
            for step, loss in enumerate(rank.losses):
                if not math.isfinite(loss):
                    return f"loss {loss} at step {step} of rank {rank.rank}, job {job_id}"
    return None


def broken(records: TrialRecords) -> list[str]:
    """Return every check that does not hold, in words; empty for a trial that may be believed."""
    cell = records.trial.cell
    violations: list[str] = []
    for job in records.jobs:
        if job.status is Status.OK:
            violations += [f"job {job.job_id}: {text}" for text in _broken_job(records, job.job_id)]
    conditions = records.trial.conditions
    pinned = conditions.policy is Policy.NORMALISED and conditions.pin_ranks
    if pinned and not cell.oversubscribe and cell.tier == "cpu":
        violations += _shared_cores(records)
    return violations


def _broken_job(records: TrialRecords, job_id: int) -> Iterator[str]:
    cell, ranks = records.trial.cell, records.ranks[job_id]
    if len(ranks) != cell.ranks:
        yield f"{len(ranks)} ranks wrote records, {cell.ranks} were asked for"
        return
    for rank in ranks:
        for text in _broken_rank(cell, rank):
            yield f"rank {rank.rank}: {text}"
        bounds = records.bounds.get((job_id, rank.rank))
        if bounds is None or bounds.shape != (cell.total_steps, 2):
            yield f"rank {rank.rank}: step boundaries of {cell.total_steps} steps are not there"
            return
    if any(rank.done_ns is None for rank in ranks):
        return
    yield from _broken_counts(cell, ranks)
    yield from _broken_clock(records, job_id)


def _broken_rank(cell: Cell, rank: RankRecord) -> Iterator[str]:
    if rank.done_ns is None or rank.live is None or rank.conditions is None or rank.samples is None:
        yield "its record ends before the rank was done"
        return
    requested = {"world_size": cell.ranks, "micro_batch": cell.micro_batch, "accumulation": cell.accumulation}
    for name, value in requested.items():
        live = getattr(rank.live, name)
        if live != value:
            yield f"{name} is {live}, {value} was asked for"
    normalised = rank.conditions.get("policy") == Policy.NORMALISED
    if normalised and rank.live.gradient_clipping is not None:
        yield f"gradients are clipped at {rank.live.gradient_clipping}, normalised conditions do not clip"


def _broken_counts(cell: Cell, ranks: list[RankRecord]) -> Iterator[str]:
    per_step = [sum(counts) for counts in zip(*(r.samples.per_step for r in ranks if r.samples), strict=True)]
    for step, count in enumerate(per_step):
        if count != cell.global_batch:
            yield f"step {step} processed {count} samples on all ranks, the global batch is {cell.global_batch}"
            return
    applied = {tuple(r.applied) for r in ranks}
    if len(applied) > 1:
        yield "ranks disagree on which optimiser steps were applied"


def _broken_clock(records: TrialRecords, job_id: int) -> Iterator[str]:
    """Check that the steps of the busiest rank fill the window; a straggler makes only its peers wait."""
    cell, ranks = records.trial.cell, records.ranks[job_id]
    window = window_ns(ranks)
    first = 1 + cell.warm_up_steps
    sums = [int((b[first:, 1] - b[first:, 0]).sum()) for b in (records.bounds[job_id, r.rank] for r in ranks)]
    missing = window - max(sums)
    if missing > max(UNEXPLAINED_FLOOR_NS, UNEXPLAINED_SHARE * window):
        yield (
            f"steps add up to {max(sums) / 1e9:.3f} s of a window of {window / 1e9:.3f} s: "
            "the clock of a step is read before the device has finished"
        )


def _shared_cores(records: TrialRecords) -> list[str]:
    """Return the first pair of ranks that trained on the same core at the same time, in words."""
    ranks_with_window = [
        (job_id, rank, set(rank.cores))
        for job_id, ranks in records.ranks.items()
        for rank in ranks
        if rank.cores and rank.window_start_ns and rank.window_end_ns
    ]
    for (job_a, a, cores_a), (job_b, b, cores_b) in combinations(ranks_with_window, 2):
        overlap = max(a.window_start_ns or 0, b.window_start_ns or 0) < min(a.window_end_ns or 0, b.window_end_ns or 0)
        if overlap and cores_a & cores_b:
            return [
                f"job {job_a} rank {a.rank} and job {job_b} rank {b.rank} ran on core {min(cores_a & cores_b)} at once"
            ]
    return []
