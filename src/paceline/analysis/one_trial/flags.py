"""Flags: what the reader of a trial's figures must know, although the figures remain valid."""

from collections.abc import Iterator

import numpy as np

from paceline.analysis.one_trial.disturbance import disturbance
from paceline.analysis.one_trial.warm_up import MIN_STEPS, detect
from paceline.schema.records import Flag, FlagName, Measure
from paceline.schema.trial_records import TrialRecords

HIGH_DATA_WAIT = 0.1
"""Share of the window spent waiting for data above which a trial counts as input-bound."""


def flags(records: TrialRecords, measures: dict[str, Measure]) -> list[Flag]:
    """Return every flag of a trial."""
    raised = [*_rank_flags(records), *_metric_flags(measures)]
    raised += [Flag(name=FlagName.DISTURBED, message=text) for text in disturbance(records).beyond_limits]
    raised += [Flag(name=FlagName.LEFT_BEHIND, message=text) for text in records.ending.leftovers]
    step_time, cell = measures.get("step_p50_s"), records.trial.cell
    if step_time and step_time.value is not None and not cell.evaluate and cell.total_steps >= MIN_STEPS:
        raised += _warm_up_flags(records)
    return raised


def _rank_flags(records: TrialRecords) -> Iterator[Flag]:
    ranks = [rank for job in records.ranks.values() for rank in job]
    if any(rank.jit_built_in_run for rank in ranks):
        yield Flag(name=FlagName.JIT_BUILT_IN_RUN, message="operators were compiled inside the trial: run doctor --fix")
    if skipped := sum(not applied for job in records.ranks.values() for rank in job[:1] for applied in rank.applied):
        yield Flag(name=FlagName.STEPS_NOT_APPLIED, message=f"{skipped} optimiser steps were skipped and not counted")
    if padded := sum(sum(r.samples.padded_per_step) for r in ranks if r.samples):
        processed = sum(sum(r.samples.per_step) for r in ranks if r.samples)
        counts = f"{processed} processed, {processed - padded} unique, {padded} padded"
        yield Flag(name=FlagName.PADDED, message=f"samples: {counts}")
    if dropped := max((r.samples.dropped_per_epoch for r in ranks if r.samples), default=0):
        yield Flag(name=FlagName.DROPPED, message=f"{dropped} samples an epoch do not fill a global batch (dropped)")


def _metric_flags(measures: dict[str, Measure]) -> Iterator[Flag]:
    wait = measures.get("data_wait_share")
    if wait and wait.value is not None and wait.value > HIGH_DATA_WAIT:
        yield Flag(name=FlagName.INPUT_BOUND, message=f"ranks waited for data {wait.value:.0%} of the window")
    utilisation = measures.get("model_flops_utilisation")
    if utilisation and utilisation.value is not None and utilisation.value > 1:
        yield Flag(
            name=FlagName.UTILISATION_ABOVE_ONE,
            message=f"{utilisation.value:.2f} of the measured peak: the peak is not this operation's ceiling "
            "(a fast convolution can beat a matrix product), or FLOPs or time are wrong; not to be ranked",
        )


def _warm_up_flags(records: TrialRecords) -> list[Flag]:
    """Return a flag where step times are not steady from the start of the window on; none or one."""
    cell = records.trial.cell
    bounds = [records.bounds[0, r.rank] for r in records.ranks[0]]
    # Durations of single steps, from the first on: between phases the harness reads memory, which is part of no step.
    series = detect(np.max([b[:, 1] - b[:, 0] for b in bounds], axis=0) * 1e-9)
    if series.shape == "flat" or (series.shape == "warm-up" and series.steps <= 1 + cell.warm_up_steps):
        return []
    steady = f"steady from step {series.steps} at {series.steady_median_s * 1e3:.4g} ms"
    name = "series_" + series.shape.replace("-", "_").replace(" ", "_")
    return [
        Flag(
            name=FlagName(name),
            message=f"{series.shape} series: {steady}, the window starts at step {1 + cell.warm_up_steps}",
        )
    ]
