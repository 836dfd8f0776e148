"""What engines' own defaults did under ``as-shipped``, and what they cost beside a ``normalised`` run."""

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
"""What a cell of the table says where nothing was recorded."""
HEADLINES = {"makespan_s": "makespan", "samples_per_s": "samples/s"}


def normalised_sibling(directory: RunDirectory, run: Run) -> RunView | None:
    """Return the latest ``normalised`` run beside this one of the same suite, machine and versions, if there is one."""
    found: list[tuple[str, RunDirectory]] = []
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
            found.append((other.started_at, RunDirectory(path)))
    return view_run(max(found, key=lambda pair: pair[0])[1]) if found else None


def defaults_table(
    view: RunView, directory: RunDirectory, comparison: ComparisonView, normalised: RunView | None
) -> Table:
    """Return one row an engine: what was in force in its first rank, and its headline beside ``normalised``."""
    table = plain_table()
    table.title = "What their own defaults did" + ("" if normalised else " (no normalised run of this suite beside it)")
    for title in ("engine", "threads", "cores", "clips at", "optimiser", "allocator", "beside\nnormalised"):
        table.add_column(title, overflow="fold")
    for row in comparison.rows:
        rank = _first_rank(view, directory, row)
        table.add_row(str(row.cell.engine), *_defaults(rank), _cost(row, normalised))
    return table


def _first_rank(view: RunView, directory: RunDirectory, row: CellSummary) -> RankRecord | None:
    for trial in view.run.plan:
        folder = directory.trial(trial)
        if trial.cell.id == row.cell.id and folder.finished and folder.result().status is Status.OK:
            return folder.records(with_arrays=False).ranks[0][0]
    return None


def _defaults(rank: RankRecord | None) -> Iterator[str]:
    if rank is None or rank.conditions is None or rank.live is None:
        yield from [MISSING] * 5
        return
    yield str(rank.conditions.get("intraop_threads", MISSING))
    yield str(rank.conditions["cores_per_rank"])
    yield "no" if rank.live.gradient_clipping is None else f"{rank.live.gradient_clipping:g}"
    loops = rank.live.optimiser_settings.get("foreach")
    name = rank.live.optimiser.rpartition(".")[2]
    yield f"{name}, one tensor at a time" if loops is False else f"{name}, torch's choice of loops"
    tuned = any(value for name, value in rank.conditions["environment"].items() if name.startswith("MALLOC"))
    yield "tuned" if tuned else "glibc's"


def _cost(row: CellSummary, normalised: RunView | None) -> str:
    """Return the headline as a ratio of medians; a ratio of single launches is not a finding, so no verdict word."""
    other = next((c for c in normalised.rows if c.cell.id == row.cell.id), None) if normalised else None
    metric = headline_metric(row.cell.load)
    values = [c.metrics[metric].median if c and metric in c.metrics else None for c in (row, other)]
    if values[0] is None or not values[1]:
        return MISSING
    disturbed = any(FlagName.DISTURBED in each.flags for each in (row, other) if each)
    return f"{values[0] / values[1]:.2f} x {HEADLINES[metric]}{' (disturbed)' if disturbed else ''}"
