"""A run as readers see it: its cells, with what is known of their work and conditions."""

from dataclasses import dataclass, field

from paceline.analysis import agreement
from paceline.analysis.agreement import SameConditions, SameWork
from paceline.analysis.expectations import Finding, check
from paceline.analysis.summary import CellSummary, summarise
from paceline.spec.engine import EngineName
from paceline.spec.records import Result
from paceline.spec.run import Run
from paceline.spec.suite import Comparison
from paceline.spec.trial import Status, Trial
from paceline.store.run_directory import RunDirectory, TrialRecords


@dataclass(frozen=True)
class ComparisonView:
    """One comparison of the suite and its rows, engines in the suite's order."""

    comparison: Comparison
    reference: EngineName
    cells: list[CellSummary]


@dataclass(frozen=True)
class RunView:
    """Everything that ``show`` prints."""

    run: Run
    comparisons: list[ComparisonView]
    work: dict[str, SameWork] = field(default_factory=dict)
    """By cell id."""
    conditions: dict[str, SameConditions] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def cells(self) -> list[CellSummary]:
        """All cells in order."""
        return [cell for comparison in self.comparisons for cell in comparison.cells]


def stored_results(directory: RunDirectory, run: Run) -> dict[str, Result]:
    """Return the results that the run directory holds, by trial id."""
    trials = ((trial, directory.trial(trial)) for trial in run.plan)
    return {trial.id: folder.result() for trial, folder in trials if (folder.path / "result.json").exists()}


def view_run(directory: RunDirectory, results: dict[str, Result] | None = None) -> RunView:
    """Read a run. ``results`` replaces the stored ones, which is how ``verify`` sees what they should be."""
    run = directory.run()
    results = stored_results(directory, run) if results is None else results
    cells = summarise(run.plan, results)
    comparisons = [_comparison_view(i, c, cells) for i, c in enumerate(run.suite.comparisons)]
    work: dict[str, SameWork] = {}
    conditions: dict[str, SameConditions] = {}
    for comparison in comparisons:
        records = _first_records(directory, run, results, comparison)
        reference = records.get(_id_of(comparison.cells, comparison.reference))
        for cell in comparison.cells:
            mine = records.get(cell.cell.id)
            if cell.cell.engine == comparison.reference:
                work[cell.cell.id] = agreement.reference_work(mine)
                conditions[cell.cell.id] = agreement.compare_conditions(mine, mine) if mine else agreement.NO_CONDITIONS
            elif mine is None or reference is None:
                work[cell.cell.id], conditions[cell.cell.id] = agreement.NO_WORK, agreement.NO_CONDITIONS
            else:
                work[cell.cell.id] = agreement.compare_work(mine, reference)
                conditions[cell.cell.id] = agreement.compare_conditions(mine, reference)
    return RunView(run, comparisons, work, conditions, check(run.suite, cells))


def _comparison_view(index: int, comparison: Comparison, cells: list[CellSummary]) -> ComparisonView:
    rows = [c for e in comparison.engines for c in cells if c.cell.comparison == index and c.cell.engine == e]
    return ComparisonView(comparison, comparison.reference or comparison.engines[0], rows)


def _first_records(
    directory: RunDirectory, run: Run, results: dict[str, Result], comparison: ComparisonView
) -> dict[str, TrialRecords]:
    """Return raw records by cell id, of the first block in which every engine ended well (else of the first block)."""
    ids = {cell.cell.id for cell in comparison.cells}
    blocks: dict[int, list[Trial]] = {}
    for trial in run.plan:
        if trial.cell.id in ids and trial.id in results and results[trial.id].status is Status.OK:
            blocks.setdefault(trial.block, []).append(trial)
    if not blocks:
        return {}
    fullest = max(blocks.values(), key=len)
    return {trial.cell.id: directory.trial(trial).records() for trial in fullest}


def _id_of(cells: list[CellSummary], engine: EngineName) -> str:
    return next((c.cell.id for c in cells if c.cell.engine == engine), "")
