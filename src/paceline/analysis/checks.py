"""What must hold before a trial's figures may be believed; a broken check makes the trial ``invalid``."""

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from paceline.analysis.exclusion import DISTURBED
from paceline.analysis.interference import interference
from paceline.analysis.measures import window_ns
from paceline.analysis.warm_up import MIN_STEPS, detect
from paceline.spec.conditions import Policy
from paceline.spec.records import Flag, Measure, RankRecord
from paceline.spec.trial import Cell, Status
from paceline.store.run_directory import TrialRecords

UNEXPLAINED_SHARE = 0.02
"""Of a window that no step of the busiest rank accounts for: more means that steps end before their work does."""
UNEXPLAINED_FLOOR_NS = 50_000_000
"""Two barriers and a few clock reads, with a rank put off the core meanwhile. An asynchronous clock misses far more."""
HIGH_DATA_WAIT = 0.1


def divergence(records: TrialRecords) -> str | None:
    """Return where a loss first was not finite, or None."""
    for job_id, ranks in records.ranks.items():
        for rank in ranks:
            for step, loss in enumerate(rank.losses):
                if not math.isfinite(loss):
                    return f"loss {loss} at step {step} of rank {rank.rank}, job {job_id}"
    return None


def broken(records: TrialRecords) -> list[str]:
    """Return every check that does not hold, in words; empty for a trial that may be believed."""
    cell = records.trial.cell
    found: list[str] = []
    for job in records.jobs:
        if job.status is Status.OK:
            found += [f"job {job.job_id}: {text}" for text in _broken_job(records, job.job_id)]
    conditions = records.trial.conditions
    pinned = conditions.policy is Policy.NORMALISED and conditions.pin_ranks
    if pinned and not cell.oversubscribe and cell.tier == "cpu":
        found += _shared_cores(records)
    return found


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
    asked = {"world_size": cell.ranks, "micro_batch": cell.micro_batch, "accumulation": cell.accumulation}
    for name, value in asked.items():
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
    """The busiest rank's steps must fill the window; a straggler makes only its peers wait."""
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
    """No two ranks may have trained on the same core at the same time."""
    spans = [
        (job_id, rank, set(rank.cores))
        for job_id, ranks in records.ranks.items()
        for rank in ranks
        if rank.cores and rank.window_start_ns and rank.window_end_ns
    ]
    for (job_a, a, cores_a), (job_b, b, cores_b) in combinations(spans, 2):
        overlap = max(a.window_start_ns or 0, b.window_start_ns or 0) < min(a.window_end_ns or 0, b.window_end_ns or 0)
        if overlap and cores_a & cores_b:
            return [
                f"job {job_a} rank {a.rank} and job {job_b} rank {b.rank} ran on core {min(cores_a & cores_b)} at once"
            ]
    return []


def flags(records: TrialRecords, measures: dict[str, Measure]) -> list[Flag]:
    """Return findings that do not void a trial but that its reader must know."""
    cell = records.trial.cell
    ranks = [rank for job in records.ranks.values() for rank in job]
    found: list[Flag] = []
    if any(rank.jit_built_in_run for rank in ranks):
        found.append(
            Flag(name="jit_built_in_run", message="operators were compiled inside the trial: run doctor --fix")
        )
    if skipped := sum(not applied for job in records.ranks.values() for rank in job[:1] for applied in rank.applied):
        found.append(Flag(name="steps_not_applied", message=f"{skipped} optimiser steps were skipped and not counted"))
    if padded := sum(sum(r.samples.padded_per_step) for r in ranks if r.samples):
        processed = sum(sum(r.samples.per_step) for r in ranks if r.samples)
        found.append(
            Flag(name="padded", message=f"samples: {processed} processed, {processed - padded} unique, {padded} padded")
        )
    if dropped := max((r.samples.dropped_per_epoch for r in ranks if r.samples), default=0):
        found.append(Flag(name="dropped", message=f"{dropped} samples an epoch do not fill a global batch (dropped)"))
    wait = measures.get("data_wait_share")
    if wait and wait.value is not None and wait.value > HIGH_DATA_WAIT:
        found.append(Flag(name="input_bound", message=f"ranks waited for data {wait.value:.0%} of the window"))
    used = measures.get("model_flops_utilisation")
    if used and used.value is not None and used.value > 1:
        found.append(
            Flag(
                name="utilisation_above_one",
                message=f"{used.value:.2f} of the measured peak: the peak is not this operation's ceiling "
                "(a fast convolution can beat a matrix product), or FLOPs or time are wrong; not to be ranked",
            )
        )
    found += [Flag(name=DISTURBED, message=text) for text in interference(records).excluding]
    found += [Flag(name="left_behind", message=text) for text in records.ending.leftovers]
    steps = measures.get("step_p50_s")
    if steps and steps.value is not None and not cell.evaluate and cell.total_steps >= MIN_STEPS:
        found += _warm_up_flag(records)
    return found


def _warm_up_flag(records: TrialRecords) -> list[Flag]:
    cell = records.trial.cell
    bounds = [records.bounds[0, r.rank] for r in records.ranks[0]]
    # Each step by itself, from the very first: between phases the harness reads memory, which is no step's time.
    found = detect(np.max([b[:, 1] - b[:, 0] for b in bounds], axis=0) * 1e-9)
    if found.shape == "flat" or (found.shape == "warm-up" and found.steps <= 1 + cell.warm_up_steps):
        return []
    return [
        Flag(
            name=f"series_{found.shape.replace('-', '_')}",
            message=(
                f"{found.shape} series: steady from step {found.steps} at {found.steady_median_s * 1e3:.4g} ms, "
                f"the window starts at step {1 + cell.warm_up_steps}"
            ),
        )
    ]
