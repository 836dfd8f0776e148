"""Every metric that Paceline prints: its unit, which direction is better, how it is reduced, what it means."""

from enum import StrEnum
from typing import Literal

from paceline.schema.model import Model


class Better(StrEnum):
    """The better direction of a metric."""

    HIGHER = "higher"
    LOWER = "lower"


class Metric(Model):
    """Definition of one metric."""

    name: str
    unit: str
    better: Better
    reduction: str
    """Rule by which values of steps, ranks or jobs become one value of the trial."""
    loads: Literal["one", "many", "both"]
    """Loads for which the metric is defined: a single job, many jobs at once, or both."""
    meaning: str


_ROWS = (
    Metric(
        name="samples_per_s",
        unit="samples/s",
        better=Better.HIGHER,
        loads="both",
        reduction="samples counted on all ranks / (latest window end - window start); many jobs: / makespan",
        meaning="training throughput of the whole job or load, applied optimiser steps only",
    ),
    Metric(
        name="samples_per_s_per_rank",
        unit="samples/s",
        better=Better.HIGHER,
        loads="one",
        reduction="samples_per_s / ranks",
        meaning="throughput of one rank",
    ),
    Metric(
        name="step_p50_s",
        unit="s",
        better=Better.LOWER,
        loads="one",
        reduction="median over steps; a step ends when the last rank ends it",
        meaning="typical optimiser step",
    ),
    Metric(
        name="step_p95_s",
        unit="s",
        better=Better.LOWER,
        loads="one",
        reduction="95th percentile over steps; a step ends when the last rank ends it",
        meaning="slow optimiser step",
    ),
    Metric(
        name="first_step_s",
        unit="s",
        better=Better.LOWER,
        loads="one",
        reduction="maximum over ranks",
        meaning="the first optimiser step, timed apart from all others",
    ),
    Metric(
        name="startup_s",
        unit="s",
        better=Better.LOWER,
        loads="both",
        reduction="one job: submission to the last rank being ready; many jobs: start to ready to accept jobs",
        meaning="what passes before training can begin (a cluster's start included)",
    ),
    Metric(
        name="peak_pss_bytes",
        unit="bytes",
        better=Better.LOWER,
        loads="one",
        reduction="maximum over phase edges of the sum over the process tree",
        meaning="proportional set size of ranks, agents and daemons together, read between timed windows",
    ),
    Metric(
        name="peak_rss_bytes_per_rank",
        unit="bytes",
        better=Better.LOWER,
        loads="both",
        reduction="maximum over ranks of the kernel's high-water mark",
        meaning="resident memory of the largest rank, transients inside steps included",
    ),
    Metric(
        name="peak_device_reserved_bytes_per_rank",
        unit="bytes",
        better=Better.LOWER,
        loads="both",
        reduction="maximum over ranks of the allocator's high-water mark",
        meaning="accelerator memory that the largest rank took from its device",
    ),
    Metric(
        name="data_wait_share",
        unit="1",
        better=Better.LOWER,
        loads="one",
        reduction="maximum over ranks",
        meaning="share of the window that a rank waited for its next batch",
    ),
    Metric(
        name="model_flops_utilisation",
        unit="1",
        better=Better.HIGHER,
        loads="one",
        reduction="training FLOP of a step / (step time x devices x measured peak)",
        meaning="share of the measured peak that went into the model's own arithmetic",
    ),
    Metric(
        name="makespan_s",
        unit="s",
        better=Better.LOWER,
        loads="many",
        reduction="ready to accept jobs to the last job done",
        meaning="time to finish all jobs, start-up apart",
    ),
    Metric(
        name="makespan_with_startup_s",
        unit="s",
        better=Better.LOWER,
        loads="many",
        reduction="start of the launcher to the last job done",
        meaning="time to finish all jobs from nothing",
    ),
    Metric(
        name="jobs_per_h",
        unit="jobs/h",
        better=Better.HIGHER,
        loads="many",
        reduction="jobs done / makespan",
        meaning="rate of finished jobs",
    ),
    Metric(
        name="jct_p50_s",
        unit="s",
        better=Better.LOWER,
        loads="many",
        reduction="median over jobs, failed jobs infinite",
        meaning="job completion time: planned submission to done as its submitter sees it",
    ),
    Metric(
        name="jct_p95_s",
        unit="s",
        better=Better.LOWER,
        loads="many",
        reduction="95th percentile over jobs, failed jobs infinite",
        meaning="slow job completion time",
    ),
    Metric(
        name="slowdown_p95",
        unit="1",
        better=Better.LOWER,
        loads="many",
        reduction="95th percentile over jobs",
        meaning="job completion time / the same job alone",
    ),
    Metric(
        name="test_accuracy",
        unit="1",
        better=Better.HIGHER,
        loads="both",
        reduction="lowest over jobs",
        meaning="share of held-out samples classified right after an untimed training",
    ),
)

METRICS: dict[str, Metric] = {row.name: row for row in _ROWS}
