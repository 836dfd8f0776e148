"""A run as readers see it: its cells, with what is known of their work and conditions."""

from collections.abc import Callable
from dataclasses import dataclass, field

from paceline.analysis import agreement
from paceline.analysis.agreement import SameConditions, SameWork
from paceline.analysis.exclusion import Block, excluded_blocks
from paceline.analysis.expectations import Finding, check
from paceline.analysis.summary import CellSummary, summarise
from paceline.analysis.verdicts import Judged, judge_comparison
from paceline.bench.proofs import proof_trial
from paceline.spec.engine import EngineName
from paceline.spec.proof import Proof
from paceline.spec.records import Result
from paceline.spec.run import Run
from paceline.spec.suite import Comparison
from paceline.spec.trial import Cell, Status, Trial
from paceline.store.run_directory import RunDirectory, TrialRecords

OutcomeOf = Callable[[RunDirectory, Run, Trial], Proof]


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
    excluded: dict[Block, list[str]] = field(default_factory=dict)
    """Blocks that do not count, and why."""
    judged: dict[int, list[Judged]] = field(default_factory=dict)
    """By comparison: its engines against the reference."""

    @property
    def cells(self) -> list[CellSummary]:
        """All cells in order."""
        return [cell for comparison in self.comparisons for cell in comparison.cells]


def stored_results(directory: RunDirectory, run: Run) -> dict[str, Result]:
    """Return the results that the run directory holds, by trial id."""
    trials = ((trial, directory.trial(trial)) for trial in run.plan)
    return {trial.id: folder.result() for trial, folder in trials if (folder.path / "result.json").exists()}


def stored_proof(directory: RunDirectory, run: Run, proof: Trial) -> Proof:  # noqa: ARG001 - what derives needs the run
    """Return the outcome of a proof as it was written down."""
    folder = directory.proof(proof)
    return folder.proof(Proof) if folder.judged else Proof.unproven("no proof was made yet")


def view_run(
    directory: RunDirectory, results: dict[str, Result] | None = None, judged: OutcomeOf | None = None
) -> RunView:
    """Read a run. What is given replaces what is stored, which is how ``verify`` sees what it should be."""
    run = directory.run()
    results = stored_results(directory, run) if results is None else results
    cells = summarise(run.plan, results)
    comparisons = [_comparison_view(i, c, cells) for i, c in enumerate(run.suite.comparisons)]
    work: dict[str, SameWork] = {}
    conditions: dict[str, SameConditions] = {}
    judged = judged or stored_proof
    for comparison in comparisons:
        blocks = _blocks(directory, run, results, comparison)
        reference = _id_of(comparison.cells, comparison.reference)
        for cell in comparison.cells:
            pairs = [(b[cell.cell.id], b[reference]) for b in blocks if cell.cell.id in b and reference in b]
            conditions[cell.cell.id] = agreement.worst_conditions([agreement.compare_conditions(*p) for p in pairs])
            screen = agreement.worst_work([agreement.compare_work(*p) for p in pairs])
            trials = [mine for mine, _ in pairs]
            ends = [end for mine in trials if (end := results[mine.trial.id].end)]
            work[cell.cell.id] = _work(directory, run, cell.cell, trials, screen, ends, judged)
    verdicts = {i: _judged(run, results, i, c, work, conditions) for i, c in enumerate(comparisons)}
    excluded = excluded_blocks(run.plan, results)
    return RunView(run, comparisons, work, conditions, check(run.suite, cells), excluded, verdicts)


def _judged(
    run: Run,
    results: dict[str, Result],
    index: int,
    comparison: ComparisonView,
    work: dict[str, SameWork],
    conditions: dict[str, SameConditions],
) -> list[Judged]:
    """Return verdicts on engines that are proven equal and ran under the same conditions; on nobody else."""
    admitted = {
        str(cell.cell.engine): work[cell.cell.id].outcome == "equal" and conditions[cell.cell.id].outcome == "same"
        for cell in comparison.cells
    }
    return judge_comparison(run.suite, index, str(comparison.reference), run.plan, results, admitted)


def _work(
    directory: RunDirectory,
    run: Run,
    cell: Cell,
    trials: list[TrialRecords],
    screen: SameWork,
    ends: list[Proof],
    judged: OutcomeOf,
) -> SameWork:
    proof = proof_trial(run, cell)
    if proof is None or not run.suite.proofs:
        return screen
    outcome = judged(directory, run, proof)
    folder = directory.proof(proof)
    ranks = folder.records(with_arrays=False).ranks[0] if outcome.outcome == "equal" else []
    proven = ranks[0].proof[-1].live if ranks else None
    return agreement.proven_work(outcome, proven, trials, screen, ends)


def _comparison_view(index: int, comparison: Comparison, cells: list[CellSummary]) -> ComparisonView:
    rows = [c for e in comparison.engines for c in cells if c.cell.comparison == index and c.cell.engine == e]
    return ComparisonView(comparison, comparison.reference or comparison.engines[0], rows)


def _blocks(
    directory: RunDirectory, run: Run, results: dict[str, Result], comparison: ComparisonView
) -> list[dict[str, TrialRecords]]:
    """Return, for every block, the records of the trials that ended well, by cell id."""
    ids = {cell.cell.id for cell in comparison.cells}
    blocks: dict[int, dict[str, TrialRecords]] = {}
    for trial in run.plan:
        if trial.cell.id in ids and trial.id in results and results[trial.id].status is Status.OK:
            blocks.setdefault(trial.block, {})[trial.cell.id] = directory.trial(trial).records(with_arrays=False)
    return list(blocks.values())


def _id_of(cells: list[CellSummary], engine: EngineName) -> str:
    return next((c.cell.id for c in cells if c.cell.engine == engine), "")
