"""What the engines' own defaults did under ``as-shipped``, and what they cost compared with a ``normalised`` run."""

from collections.abc import Iterator

from rich.table import Table

from paceline.analysis.whole_run.summary import CellSummary
from paceline.analysis.whole_run.view import ComparisonView, RunView, view_run
from paceline.errors import PacelineError
from paceline.report.tables import plain_table
from paceline.schema.conditions import Policy
from paceline.schema.records import FlagName, RankRecord
from paceline.schema.run import Run
from paceline.schema.suite import headline_metric
from paceline.schema.trial import Status
from paceline.store.run_directory import RunDirectory

MISSING = "-"
"""Text of a cell where nothing was recorded."""
HEADLINES = {"makespan_s": "makespan", "samples_per_s": "samples/s"}
"""Names of headline metrics in the table."""


def normalised_sibling(directory: RunDirectory, run: Run) -> RunView | None:
    """Return the latest ``normalised`` run in the same folder, of the same suite, machine and versions, or None."""
    siblings: list[tuple[str, RunDirectory]] = []
    for path in directory.path.resolve().parent.iterdir():
        try:
            other = RunDirectory.open(path).run()
        except PacelineError:
            continue
        same = (other.suite.name, other.machine.cpu_model, other.versions) == (
            run.suite.name,
            run.machine.cpu_model,
            run.versions,
        )
        if same and other.conditions.policy is Policy.NORMALISED:
            siblings.append((other.started_at, RunDirectory(path)))
    return view_run(max(siblings, key=lambda sibling: sibling[0])[1]) if siblings else None


def defaults_table(
    view: RunView, directory: RunDirectory, comparison: ComparisonView, normalised: RunView | None
) -> Table:
    """Return one row an engine: the settings in force in its first rank, and its headline beside ``normalised``."""
    table = plain_table()
    table.title = "What their own defaults did" + ("" if normalised else " (no normalised run of this suite beside it)")
    for title in ("engine", "threads", "cores", "clips at", "optimiser", "allocator", "beside\nnormalised"):
        table.add_column(title, overflow="fold")
    for row in comparison.rows:
        rank = _first_rank(view, directory, row)
        table.add_row(str(row.cell.engine), *_defaults(rank), _cost(row, normalised))
    return table


def _first_rank(view: RunView, directory: RunDirectory, row: CellSummary) -> RankRecord | None:
    """Return the record of rank 0 in the first trial of a row that ended well, or None."""
    for trial in view.run.plan:
        folder = directory.trial(trial)
        if trial.cell.id == row.cell.id and folder.finished and folder.result().status is Status.OK:
            return folder.records(with_arrays=False).ranks[0][0]
    return None


def _defaults(rank: RankRecord | None) -> Iterator[str]:
    """Yield the five cells of a row: threads, cores, clipping, optimiser, allocator."""
    if rank is None or rank.conditions is None or rank.live is None:
        yield from [MISSING] * 5
        return
    yield str(rank.conditions.get("intraop_threads", MISSING))
    yield str(rank.conditions["cores_per_rank"])
    yield "no" if rank.live.gradient_clipping is None else f"{rank.live.gradient_clipping:g}"
    foreach = rank.live.optimiser_settings.get("foreach")
    optimiser = rank.live.optimiser.rpartition(".")[2]
    yield f"{optimiser}, one tensor at a time" if foreach is False else f"{optimiser}, torch's choice of loops"
    tuned = any(value for name, value in rank.conditions["environment"].items() if name.startswith("MALLOC"))
    yield "tuned" if tuned else "glibc's"


def _cost(row: CellSummary, normalised: RunView | None) -> str:
    """Return the headline as a ratio of medians, as-shipped / normalised; between two runs there is no verdict."""
    rows = [row]
    if normalised:
        rows += [other for other in normalised.rows if other.cell.id == row.cell.id][:1]
    metric = headline_metric(row.cell.load)
    medians = [each.metrics[metric].median if metric in each.metrics else None for each in rows]
    if len(medians) < 2 or medians[0] is None or not medians[1]:
        return MISSING
    disturbed = any(FlagName.DISTURBED in each.flags for each in rows)
    return f"{medians[0] / medians[1]:.2f} x {HEADLINES[metric]}{' (disturbed)' if disturbed else ''}"
