"""What ``choose`` answers: for each comparison of a run that is asked about, from its stored results."""

from rich.console import Group
from rich.text import Text

from paceline.analysis.choice import Blocks, Choice, Purpose, Weights, choose
from paceline.analysis.verdicts import confirmatory_metric, times_by_block
from paceline.report.view import ComparisonView, RunView, stored_results
from paceline.spec.errors import RequestError, nearest
from paceline.spec.records import Result
from paceline.store.run_directory import RunDirectory


def choices(
    view: RunView, directory: RunDirectory, asked: str, weights: Weights
) -> list[tuple[ComparisonView, Choice]]:
    """Return the answers for a workload or a category. Raises RequestError when the run has neither."""
    known = {c.comparison.workload for c in view.comparisons} | {str(c.comparison.category) for c in view.comparisons}
    if asked not in known:
        raise RequestError(f"neither a workload nor a category of this run: {asked!r}: {nearest(asked, sorted(known))}")
    results = stored_results(directory, view.run)
    found = []
    for index, comparison in enumerate(view.comparisons):
        wanted = comparison.comparison
        if asked in (wanted.workload, str(wanted.category)) and confirmatory_metric(wanted):
            found.append((comparison, _choose(view, index, results, weights)))
    return found


def _choose(view: RunView, index: int, results: dict[str, Result], weights: Weights) -> Choice:
    comparison = view.comparisons[index]
    metrics = {
        Purpose.SPEED: confirmatory_metric(comparison.comparison) or "",
        Purpose.MEMORY: "peak_pss_bytes",
        Purpose.START_UP: "startup_s",
    }
    values: dict[str, dict[Purpose, Blocks]] = {}
    marks: list[str] = []
    unproven: dict[str, list[str]] = {}
    for cell in comparison.cells:
        name, work, conditions = str(cell.cell.engine), view.work[cell.cell.id], view.conditions[cell.cell.id]
        if work.outcome == "different":
            marks.append(f"{name} is left out, it does other work: {work.cause}")
            continue
        if conditions.outcome == "different":
            marks.append(f"{name} is left out, it ran under other conditions: {'; '.join(conditions.differences)}")
            continue
        if work.outcome == "unproven":
            unproven.setdefault(work.cause, []).append(name)
        counted = [t for t in view.run.plan if t.cell.id == cell.cell.id and (index, t.block) not in view.excluded]
        values[name] = {purpose: times_by_block(counted, results, metric) for purpose, metric in metrics.items()}
    marks += [f"not proven to do the same work ({cause}): {', '.join(names)}" for cause, names in unproven.items()]
    return choose(values, weights, marks)


def choice_text(comparison: ComparisonView, choice: Choice) -> Group:
    """Return an answer as people read it."""
    wanted = comparison.comparison
    lines = [Text(f"{wanted.category.heading}: {wanted.workload}", style="bold")]
    if choice.engine is None:
        lines.append(Text(f"no recommendation: {choice.reason}"))
    elif choice.too_close and choice.runner_up:
        why = "too few blocks to call" if choice.regret is None else "too close to call"
        lines.append(Text(f"{why}: {choice.engine}, nominally before {choice.runner_up}"))
    else:
        lines.append(Text(f"take {choice.engine}" + (f", else {choice.runner_up}" if choice.runner_up else "")))
    if choice.engine is not None:
        lines.append(Text(f"why: {choice.reason}"))
    if choice.regret is not None:
        lines.append(Text(f"expected cost of choosing wrong: {choice.regret:.2%}"))
    lines += [Text(said) for said in choice.would_change]
    lines += [Text(mark, style="yellow") for mark in choice.marks]
    return Group(*lines, Text())
