"""Tables for the terminal: one a comparison with engines as rows, failures with their cause, and what it all means."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.table import Table
from rich.text import Text

from paceline.analysis.same_work.timed_trials import SameWork
from paceline.analysis.statistics.error_spending import FIRST_LOOK
from paceline.analysis.statistics.pair_verdict import ALPHA, MARGIN
from paceline.analysis.whole_run.comparison_verdicts import family_size
from paceline.analysis.whole_run.summary import CellSummary, Spread
from paceline.analysis.whole_run.view import ComparisonView, RunView
from paceline.report import PROSE_COLUMNS
from paceline.schema.conditions import GIB, ConditionsOutcome, Policy
from paceline.schema.proof import WorkOutcome
from paceline.schema.suite import Comparison
from paceline.schema.trial import Cell, Status

Format = Callable[[float], str]
"""Turns a metric's value, in its own unit, into the text of a cell."""


@dataclass(frozen=True)
class Column:
    """One metric as a column of a table."""

    title: str
    metric: str
    format: Format


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _milliseconds(value: float) -> str:
    return f"{value * 1e3:.2f}" if value < 0.01 else f"{value * 1e3:.0f}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _gib(value: float) -> str:
    return f"{value / GIB:.2f}"


def _share(value: float) -> str:
    return f"{value:.1%}"


ONE_JOB = (
    Column("\nsamples/s", "samples_per_s", _rate),
    Column("p50\nms", "step_p50_s", _milliseconds),
    Column("p95\nms", "step_p95_s", _milliseconds),
    Column("first\nms", "first_step_s", _milliseconds),
    Column("start\ns", "startup_s", _seconds),
    Column("peak\nGiB", "peak_pss_bytes", _gib),
)
MANY_JOBS = (
    Column("make-\nspan s", "makespan_s", _seconds),
    Column("+ start\ns", "makespan_with_startup_s", _seconds),
    Column("\njobs/h", "jobs_per_h", _rate),
    Column("JCT\np50 s", "jct_p50_s", _seconds),
    Column("JCT\np95 s", "jct_p95_s", _seconds),
)
ACCURACY = (Column("test\naccuracy", "test_accuracy", _share),)


def plain_table() -> Table:
    """Return an empty table in the style of all tables: no vertical lines, narrow enough for 80 columns."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def comparison_table(view: RunView, comparison: ComparisonView) -> RenderableType:
    """Return the table of one comparison, with its failures and flags below it."""
    columns = _columns(comparison.definition)
    table = plain_table()
    table.add_column("engine", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right", overflow="fold")
    table.add_column("same\nwork", overflow="fold")
    table.add_column("same\ncond.", overflow="fold")
    several_trials = any(row.planned > 1 for row in comparison.rows)
    if several_trials:
        table.add_column("trials", justify="right")
    for row in comparison.rows:
        texts = [str(row.cell.engine), *_figures(row, columns)]
        texts += [_work(view.work[row.cell.id]), view.conditions[row.cell.id].outcome]
        if several_trials:
            texts.append(f"{row.ok}/{row.planned}")
        table.add_row(*texts)
    return Group(Text(_title(view, comparison), style="bold"), table, *map(prose, _below(view, comparison)), Text())


def prose(text: Text) -> RenderableType:
    """Return sentences that are wrapped by words, in lines that a person can read."""
    return Constrain(text, PROSE_COLUMNS)


def _work(work: SameWork) -> str:
    """Return the outcome, and for equal work the largest relative difference, such as ``equal 3e-7``."""
    if work.outcome is WorkOutcome.EQUAL and work.max_relative_difference is not None:
        return f"equal {work.max_relative_difference:.0e}".replace("e-0", "e-").removesuffix(" 0e+00")
    return work.outcome


def _columns(definition: Comparison) -> tuple[Column, ...]:
    if definition.evaluate:
        return ACCURACY
    return MANY_JOBS if definition.load.many else ONE_JOB


def _title(view: RunView, comparison: ComparisonView) -> str:
    definition = comparison.definition
    if not comparison.rows:
        return definition.category.heading
    cell = comparison.rows[0].cell
    ranks = f"{cell.ranks} rank{'s' if cell.ranks > 1 else ''}"
    load = f"{cell.load.jobs} jobs {cell.load.arrival}, {ranks} each" if cell.load.many else ranks
    shipped = (
        " · AS SHIPPED: every engine with its own defaults" if view.run.conditions.policy is Policy.AS_SHIPPED else ""
    )
    title = f": {definition.title}" if definition.title else ""
    return (
        f"{definition.category.heading}{shipped}{title}\n"
        f"{cell.workload} ({cell.tier} tier, data: {cell.data}, {cell.dataset}), {load}, "
        f"global batch {cell.global_batch}, {cell.recipe}, {cell.steps} timed steps after {1 + cell.warm_up_steps}"
    )


def _figures(row: CellSummary, columns: tuple[Column, ...]) -> Iterator[str]:
    """Yield the cells of a row's metrics; where the row has none, its status stands in the first cell."""
    if row.status is None:
        yield from ("not run" if i == 0 else "" for i in range(len(columns)))
        return
    for index, column in enumerate(columns):
        spread = row.metrics.get(column.metric)
        if index == 0 and row.ok == 0 and (spread is None or spread.median is None):
            yield str(row.status).upper()
        else:
            yield _figure(spread, column.format)


def _figure(spread: Spread | None, format_value: Format) -> str:
    """Return the median, and below it the range where there are several trials."""
    if spread is None or spread.median is None or spread.min is None or spread.max is None:
        return "-"
    if spread.n == 1:
        return format_value(spread.median)
    return f"{format_value(spread.median)}\n{format_value(spread.min)}..{format_value(spread.max)}"


def _below(view: RunView, comparison: ComparisonView) -> Iterator[Text]:
    """Yield the lines below a table: schedulers, layouts, failures, other work and conditions, blocks, flags."""
    schedulers = _by_message(
        (str(row.cell.engine), f"placed by {row.scheduler}") for row in comparison.rows if row.scheduler
    )
    yield from (Text(f"{', '.join(engines)}: {message}") for message, engines in schedulers.items())
    layout = comparison.rows[0].cell.layout if comparison.rows else None
    other_layouts = _by_message(
        (str(row.cell.engine), _layout(row.cell)) for row in comparison.rows if row.cell.layout != layout
    )
    yield from (Text(f"{', '.join(engines)}: on {message}") for message, engines in other_layouts.items())
    for row in comparison.rows:
        engine = str(row.cell.engine)
        if row.status not in (None, Status.OK):
            yield Text(f"{engine} {row.status} ({row.failed} of {row.planned} trials): {row.cause}", style="red")
        work = view.work[row.cell.id]
        if work.outcome is WorkOutcome.DIFFERENT:
            yield Text(f"{engine}: NOT the same work: {work.cause}", style="red")
        conditions = view.conditions[row.cell.id]
        if conditions.outcome is ConditionsOutcome.DIFFERENT:
            yield Text(f"{engine}: other conditions: {'; '.join(conditions.differences)}", style="red")
    soft_items = {note.partition(":")[0] for row in comparison.rows for note in view.conditions[row.cell.id].notes}
    if soft_items:
        yield Text(
            f"Not alike, but no bar to comparing: {', '.join(sorted(soft_items))} "
            f"(paceline show --proof {comparison.definition.workload})",
            style="dim",
        )
    for (index, block), reasons in view.excluded.items():
        if comparison.rows and index == comparison.rows[0].cell.comparison:
            yield Text(f"block {block + 1} does not count: {'; '.join(reasons)}", style="yellow")
    flags = _by_message((str(row.cell.engine), text) for row in comparison.rows for text in row.flags.values())
    for text, engines in flags.items():
        names = "all engines" if len(engines) == len(comparison.rows) > 1 else ", ".join(engines)
        yield Text(f"{names}: {text}", style="dim")


def _layout(cell: Cell) -> str:
    ranks, cores = cell.layout
    each = " each" if ranks > 1 else ""
    return f"{ranks} rank{'s' if ranks > 1 else ''} with {cores} core{'s' if cores > 1 else ''}{each}"


def _by_message(messages: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the engines to which each message applies, in order, from pairs of an engine and a message."""
    engines_by_message: dict[str, list[str]] = {}
    for engine, message in messages:
        engines_by_message.setdefault(message, []).append(engine)
    return engines_by_message


def meaning(view: RunView) -> RenderableType:
    """Return what the tables can and cannot say."""
    run = view.run
    equal = [w for w in view.work.values() if w.outcome is WorkOutcome.EQUAL]
    lines = []
    if equal:
        lines.append(
            f"Same work: 'equal' rows train what a single process trains ({equal[0].steps} steps: initial weights, "
            "samples, gradients, losses, updates; the largest relative difference is shown), proven in trials of their "
            "own; the timed ones ran on the proven settings and do not part from each other."
        )
    works = [(str(row.cell.engine), view.work[row.cell.id]) for row in view.rows]
    ends = [(engine, work.end) for engine, work in works if work.outcome is WorkOutcome.EQUAL and work.end]
    proven = [end for _, end in ends if end.outcome is WorkOutcome.EQUAL]
    if proven:
        worst = max(end.max_relative_difference or 0.0 for end in proven)
        lines.append(
            f"At the end: of {len(proven)} of {len(equal)} 'equal' rows, the state after the first block's window took "
            f"the step that a single process takes from it (within {worst:.0e})."
        )
    at_end = _by_message((engine, end.cause) for engine, end in ends if end.outcome is WorkOutcome.UNPROVEN)
    lines += [f"Unproven at the end: {', '.join(engines)}: {cause}" for cause, engines in at_end.items()]
    unproven = {w.cause.splitlines()[0] for w in view.work.values() if w.outcome is WorkOutcome.UNPROVEN}
    lines += [f"Unproven: {cause}" for cause in sorted(unproven)]
    lines.append("Warm-up: a fixed number of steps, the same for all engines of a row, not one measured by a pilot.")
    if any(pair.verdict.blocks >= FIRST_LOOK for pairs in view.verdicts.values() for pair in pairs):
        lines.append(
            f"Verdicts: from blocks (launches), never from steps. 'faster' and 'slower' are gaps proven to be beyond "
            f"{MARGIN:.0%}, 'equivalent' a gap proven to be within it; the suite's {family_size(run.suite)} verdicts "
            f"share an error of {ALPHA:.1%} a side. A rank is an interval of places, from all pairs of its table."
        )
    else:
        lines.append(
            f"No ranking: {run.suite.blocks} block{'s' if run.suite.blocks > 1 else ''}. A launch is one sample, and "
            f"launches of one engine differ by several percent; a verdict needs at least {FIRST_LOOK} blocks."
        )
    return prose(Text("\n".join(lines)))


def expectations_table(view: RunView) -> RenderableType | None:
    """Return the suite's expectations and whether they hold, or None when it has none."""
    if not view.expectations:
        return None
    table = plain_table()
    for title in ("", "engine", "expectation"):
        table.add_column(title)
    for checked in view.expectations:
        table.add_row("holds" if checked.holds else "BROKEN", checked.engine, Text(checked.text))
    return table
