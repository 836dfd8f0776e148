"""From the results of trials to one row a cell: medians and ranges over trials, the only unit of evidence."""

import math
from collections.abc import Container, Sequence
from statistics import median

from paceline.analysis.whole_run.excluded_blocks import Block
from paceline.schema.metrics import Better
from paceline.schema.model import Model
from paceline.schema.records import Phase, Result
from paceline.schema.trial import Cell, Status, Trial

FAILURES = (Status.FAILED, Status.OOM, Status.TIMEOUT, Status.DIVERGED)
"""Statuses of trials that count as infinite time."""
NOT_THE_ENGINES_FAULT = (Status.INTERRUPTED, Status.INFRASTRUCTURE, Status.INVALID)
"""Statuses of trials that are left out of metrics, but counted as failed."""


class Spread(Model):
    """A metric over the trials of a cell that ended well."""

    median: float | None
    min: float | None
    max: float | None
    n: int
    unit: str
    better: Better
    reason: str | None = None
    """Why there is no value."""


class CellSummary(Model):
    """What the trials of one cell show."""

    cell: Cell
    status: Status | None
    """``ok`` when every counted trial was, else the status of the first that was not; null when none has finished."""
    cause: str | None
    ok: int
    failed: int
    planned: int
    excluded: int
    """Finished trials that do not count, because their block was disturbed."""
    metrics: dict[str, Spread]
    phases_s: dict[str, float | None]
    """Median of each phase over the trials that ended well."""
    flags: dict[str, str]
    """Name of a flag to the messages of all trials."""
    scheduler: str | None
    """Whose scheduler placed the jobs; null for one job."""


def summarise(
    trials: Sequence[Trial], results: dict[str, Result], excluded: Container[Block] = ()
) -> list[CellSummary]:
    """Return one summary a cell, in the order in which cells were first planned; ``excluded`` blocks do not count."""
    cells: dict[str, list[Trial]] = {}
    for trial in trials:
        cells.setdefault(trial.cell.id, []).append(trial)
    return [_summarise(group, results, excluded) for group in cells.values()]


def _summarise(trials: list[Trial], all_results: dict[str, Result], excluded: Container[Block]) -> CellSummary:
    finished = [t for t in trials if t.id in all_results]
    results = [all_results[t.id] for t in finished if (t.cell.comparison, t.block) not in excluded]
    bad = next((r for r in results if r.status is not Status.OK), None)
    good = [r for r in results if r.status is Status.OK]
    names = dict.fromkeys(name for r in results for name in r.measures)
    return CellSummary(
        cell=trials[0].cell,
        status=bad.status if bad else (Status.OK if results else None),
        cause=bad.cause if bad else None,
        ok=len(good),
        failed=len(results) - len(good),
        planned=len(trials),
        excluded=len(finished) - len(results),
        metrics={name: _spread(name, results) for name in names},
        phases_s={name: _median_phase(name, good) for name in Phase} if good else {},
        flags=_flags(results),
        scheduler=next((r.scheduler for r in results if r.scheduler), None),
    )


def _flags(results: list[Result]) -> dict[str, str]:
    """Return the different messages under each flag, joined."""
    messages_by_flag: dict[str, dict[str, None]] = {}
    for flag in (flag for result in results for flag in result.flags):
        messages_by_flag.setdefault(flag.name, {})[flag.message] = None
    return {name: "; ".join(messages) for name, messages in messages_by_flag.items()}


def _median_phase(name: Phase, results: list[Result]) -> float | None:
    values = [p.seconds for r in results for p in r.phases if p.name is name and p.seconds is not None]
    return median(values) if values else None


def _spread(name: str, results: list[Result]) -> Spread:
    """Return the spread over the trials that ended through the engine's own doing; a failed one took infinite time."""
    counted = [r for r in results if r.status not in NOT_THE_ENGINES_FAULT] or results
    measures = [r.measures[name] for r in counted if name in r.measures]
    values = [m.value for m in measures if m.value is not None]
    failures = sum(r.status in FAILURES for r in counted) if values else 0
    worst = 0.0 if measures[0].better is Better.HIGHER else math.inf  # the value of a failed trial
    middle = median([*values, *[worst] * failures]) if values else None
    reason = None if values else measures[0].reason
    if middle is not None and (math.isinf(middle) or (failures and middle == 0.0)):
        middle, reason = None, f"{failures} of {len(counted)} trials failed: no typical value"
    return Spread(
        median=middle,
        min=min(values, default=None),
        max=max(values, default=None),
        n=len(values),
        unit=measures[0].unit,
        better=measures[0].better,
        reason=reason,
    )
