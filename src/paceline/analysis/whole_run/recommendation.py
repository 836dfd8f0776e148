"""What to recommend from a run: first which engines may be recommended, then the choice among them (``choice.py``)."""

from paceline.analysis.whole_run.choice import Blocks, Choice, Purpose, Weights, choose
from paceline.analysis.whole_run.comparison_verdicts import times_by_block
from paceline.analysis.whole_run.view import ComparisonView, RunView
from paceline.errors import RequestError, nearest
from paceline.schema.conditions import ConditionsOutcome
from paceline.schema.proof import WorkOutcome


def recommendations(view: RunView, asked: str, weights: Weights) -> list[tuple[ComparisonView, Choice]]:
    """Return the choice for each comparison of a workload or category, except comparisons without a verdict's metric.

    ``asked``: name of a workload or of a category. Raises RequestError when the run has none of that name.
    """
    definitions = [comparison.definition for comparison in view.comparisons]
    known = {d.workload for d in definitions} | {str(d.category) for d in definitions}
    if asked not in known:
        raise RequestError(f"neither a workload nor a category of this run: {asked!r}: {nearest(asked, sorted(known))}")
    return [
        (comparison, _recommendation(view, index, weights))
        for index, comparison in enumerate(view.comparisons)
        if asked in (comparison.definition.workload, str(comparison.definition.category))
        and comparison.definition.confirmatory_metric
    ]


def _recommendation(view: RunView, index: int, weights: Weights) -> Choice:
    """Return the choice of one comparison. Engines that do other work are left out; unproven ones get a mark."""
    comparison = view.comparisons[index]
    metrics = {
        Purpose.SPEED: comparison.definition.confirmatory_metric or "",
        Purpose.MEMORY: "peak_pss_bytes",
        Purpose.START_UP: "startup_s",
    }
    values: dict[str, dict[Purpose, Blocks]] = {}
    marks: list[str] = []
    unproven: dict[str, list[str]] = {}
    for row in comparison.rows:
        engine, work, conditions = str(row.cell.engine), view.work[row.cell.id], view.conditions[row.cell.id]
        if work.outcome is WorkOutcome.DIFFERENT:
            marks.append(f"{engine} is left out, it does other work: {work.cause}")
            continue
        if conditions.outcome is ConditionsOutcome.DIFFERENT:
            marks.append(f"{engine} is left out, it ran under other conditions: {'; '.join(conditions.differences)}")
            continue
        if work.outcome is WorkOutcome.UNPROVEN:
            unproven.setdefault(work.cause, []).append(engine)
        counted = [t for t in view.run.plan if t.cell.id == row.cell.id and (index, t.block) not in view.excluded]
        values[engine] = {purpose: times_by_block(counted, view.results, metric) for purpose, metric in metrics.items()}
    marks += [f"not proven to do the same work ({cause}): {', '.join(engines)}" for cause, engines in unproven.items()]
    return choose(values, weights, marks)
