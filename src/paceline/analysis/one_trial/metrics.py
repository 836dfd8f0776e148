"""From the raw records of one trial to its metrics (docs/method.md, "Time and samples").

Samples and times are those that ranks recorded, never those that were configured.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from paceline.schema.metrics import METRICS
from paceline.schema.records import JobRecord, Measure, RankRecord
from paceline.schema.trial import Cell, Status
from paceline.schema.trial_records import TrialRecords

_NS = 1e-9
Measures = dict[str, Measure]


def measure(name: str, value: float | None, reason: str | None = None) -> Measure:
    """Return a value with its unit and direction. Null needs a reason; an infinite value becomes null with a reason."""
    metric = METRICS[name]
    if value is not None and not math.isfinite(value):
        value, reason = None, reason or "infinite: a failed job counts as never done"
    assert value is not None or reason, f"{name} is null without a reason"
    return Measure(value=value, unit=metric.unit, better=metric.better, reduction=metric.reduction, reason=reason)


def names_for(cell: Cell) -> list[str]:
    """Return the metrics that are defined for a cell's load."""
    load = "many" if cell.load.many else "one"
    return [
        m.name for m in METRICS.values() if m.loads in (load, "both") and (m.name != "test_accuracy" or cell.evaluate)
    ]


def unmeasured(cell: Cell, reason: str) -> Measures:
    """Return every metric of the cell as null, for a trial without figures."""
    return {name: measure(name, None, reason) for name in names_for(cell)}


def one_job(records: TrialRecords) -> Measures:
    """Return the metrics of a trial with a single finished job."""
    cell = records.trial.cell
    (job,) = records.jobs
    ranks = records.ranks[job.job_id]
    bounds = [records.bounds[job.job_id, rank.rank] for rank in ranks]
    window_s = window_ns(ranks) * _NS
    samples = counted_samples(ranks, first_step=1 + cell.warm_up_steps)
    steps_s = step_durations_s(bounds, cell)
    throughput = samples / window_s
    job_pss_bytes = [m.tree_pss_bytes for r in ranks for m in r.memory if m.tree_pss_bytes is not None]
    result = {
        "samples_per_s": measure("samples_per_s", throughput),
        "samples_per_s_per_rank": measure("samples_per_s_per_rank", throughput / len(ranks)),
        "step_p50_s": measure("step_p50_s", float(np.quantile(steps_s, 0.5))),
        "step_p95_s": measure("step_p95_s", float(np.quantile(steps_s, 0.95))),
        "first_step_s": measure("first_step_s", max(int(b[0, 1] - b[0, 0]) for b in bounds) * _NS),
        "startup_s": measure(
            "startup_s", _difference_s(job.ready_ns, records.load.started_ns), "the job was never ready"
        ),
        "peak_pss_bytes": measure(
            "peak_pss_bytes", float(max(job_pss_bytes)) if job_pss_bytes else None, "no phase edge was sampled"
        ),
        "data_wait_share": measure(
            "data_wait_share", max(r.data_wait_ns or 0 for r in ranks) / max(1, window_ns(ranks))
        ),
        "model_flops_utilisation": utilisation(cell, samples, window_s),
    }
    return result | _common(records.ranks.values(), cell)


def many_jobs(records: TrialRecords) -> Measures:
    """Return the metrics of a trial with several jobs; a failed job counts as never done."""
    cell, load = records.trial.cell, records.load
    if load.accepting_ns is None:
        return unmeasured(cell, "the launcher was never ready to accept jobs")
    done = [job for job in records.jobs if job.status is Status.OK and job.released_ns is not None]
    jct_s = [_completion_s(job) for job in records.jobs]
    last_ns = max((job.released_ns for job in done if job.released_ns), default=load.accepting_ns)
    all_done = len(done) == len(records.jobs)
    makespan_s = (last_ns - load.accepting_ns) * _NS if all_done else math.inf
    startup_s = (load.accepting_ns - load.started_ns) * _NS
    samples = sum(counted_samples(records.ranks[job.job_id], first_step=0) for job in done)
    result = {
        "samples_per_s": measure("samples_per_s", samples / makespan_s if all_done else None, "a job failed"),
        "startup_s": measure("startup_s", startup_s),
        "makespan_s": measure("makespan_s", makespan_s),
        "makespan_with_startup_s": measure("makespan_with_startup_s", startup_s + makespan_s),
        "jobs_per_h": measure("jobs_per_h", len(done) / makespan_s * 3600 if all_done else None, "a job failed"),
        "jct_p50_s": measure("jct_p50_s", quantile_with_failures(jct_s, 0.5)),
        "jct_p95_s": measure("jct_p95_s", quantile_with_failures(jct_s, 0.95)),
        "slowdown_p95": measure("slowdown_p95", None, "the same job alone is not measured in this version"),
    }
    return result | _common(records.ranks.values(), cell)


def window_ns(ranks: Sequence[RankRecord]) -> int:
    """Return the trial's time in nanoseconds: the largest window of any rank, never a sum of per-step maxima."""
    return max(r.window_end_ns - r.window_start_ns for r in ranks if r.window_end_ns and r.window_start_ns)


def counted_samples(ranks: Iterable[RankRecord], first_step: int) -> int:
    """Return the samples of all ranks in applied steps from ``first_step`` on, without padding."""
    total = 0
    for rank in ranks:
        if rank.samples is None:
            continue
        rows = zip(rank.samples.per_step, rank.samples.padded_per_step, rank.applied, strict=True)
        total += sum(n - padded for n, padded, applied in list(rows)[first_step:] if applied)
    return total


def step_durations_s(bounds: Sequence[NDArray[np.int64]], cell: Cell) -> NDArray[np.float64]:
    """Return the durations of the window's steps in seconds, shape (steps,): a step ends when its last rank ends it.

    ``bounds``: start and end of every step of each rank, shape (total steps, 2), nanoseconds.
    """
    first = 1 + cell.warm_up_steps
    ends = np.max([b[first:, 1] for b in bounds], axis=0)
    start = min(int(b[first, 0]) for b in bounds)
    durations: NDArray[np.float64] = np.diff(ends, prepend=start) * _NS
    return durations


def utilisation(cell: Cell, samples: int, window_s: float) -> Measure:
    """Return model FLOPs utilisation (docs/method.md, "FLOPs and utilisation").

    Null where no peak has been measured on this very device: a peak of another device is no fallback.
    """
    name = "model_flops_utilisation"
    flops = cell.flops_per_sample_training
    if flops is None:
        return measure(name, None, f"FLOPs of the workload are unknown: {cell.flops_source}")
    if cell.peak is None:
        return measure(name, None, "the peak of this device has not been measured")
    if cell.peak.flops_per_s is None:
        return measure(name, None, f"peak unknown: {cell.peak.source}")
    return measure(name, flops * samples / (window_s * cell.ranks * cell.cores_per_rank * cell.peak.flops_per_s))


def quantile_with_failures(values: Sequence[float], q: float) -> float:
    """Return a quantile of completion times, where failed jobs are infinite.

    With failures the next higher value is taken, because interpolation between a finite and an infinite time is none.
    """
    method = "linear" if all(math.isfinite(v) for v in values) else "higher"
    return float(np.quantile(np.asarray(values), q, method=method))  # type: ignore[call-overload]


def _common(all_ranks: Iterable[list[RankRecord]], cell: Cell) -> Measures:
    ranks = [rank for job in all_ranks for rank in job]
    edges = [m for r in ranks for m in r.memory]
    reserved = [m.device.peak_reserved_bytes for m in edges if m.device is not None]
    result = {
        "peak_rss_bytes_per_rank": measure(
            "peak_rss_bytes_per_rank",
            max((float(m.rank_peak_rss_bytes) for m in edges), default=None),
            "no rank came to a phase edge",
        ),
        "peak_device_reserved_bytes_per_rank": measure(
            "peak_device_reserved_bytes_per_rank",
            max(map(float, reserved), default=None),
            "ranks trained on the host" if edges else "no rank came to a phase edge",
        ),
    }
    if cell.evaluate:
        accuracies = [r.test_accuracy for r in ranks if r.test_accuracy is not None]
        result["test_accuracy"] = measure(
            "test_accuracy", min(accuracies) if accuracies else None, "the workload has no held-out samples"
        )
    return result


def _completion_s(job: JobRecord) -> float:
    if job.status is not Status.OK or job.released_ns is None:
        return math.inf
    return (job.released_ns - job.planned_ns) * _NS


def _difference_s(end_ns: int | None, start_ns: int) -> float | None:
    return None if end_ns is None else (end_ns - start_ns) * _NS
