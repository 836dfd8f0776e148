"""A run as its readers see it: rows, their work and conditions, verdicts. ``view_run`` is the entry point."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from paceline.analysis.same_work.proof_trials import proof_trial
from paceline.analysis.same_work.same_conditions import SameConditions, compare_conditions, worst_conditions
from paceline.analysis.same_work.timed_trials import SameWork, compare_work, proven_work, worst_work
from paceline.analysis.whole_run.comparison_verdicts import EngineVerdict, comparison_verdicts
from paceline.analysis.whole_run.excluded_blocks import Block, excluded_blocks
from paceline.analysis.whole_run.expectations import CheckedExpectation, checked_expectations
from paceline.analysis.whole_run.stored_proofs import ProofReader, stored_proof, stored_results
from paceline.analysis.whole_run.summary import CellSummary, summarise
from paceline.schema.conditions import ConditionsOutcome
from paceline.schema.engine import EngineName
from paceline.schema.proof import WorkOutcome
from paceline.schema.records import Result
from paceline.schema.run import Run
from paceline.schema.suite import Comparison
from paceline.schema.trial import Cell, Status
from paceline.schema.trial_records import TrialRecords
from paceline.store.run_directory import RunDirectory


@dataclass(frozen=True)
class ComparisonView:
    """One comparison of the suite and its rows, engines in the suite's order."""

    definition: Comparison
    rows: list[CellSummary]

    @property
    def reference(self) -> EngineName:
        """The engine that all others are compared with."""
        return self.definition.reference_engine


@dataclass(frozen=True)
class RunView:
    """Everything that is printed of a run."""

    run: Run
    comparisons: list[ComparisonView]
    results: dict[str, Result]
    """By trial id."""
    work: dict[str, SameWork] = field(default_factory=dict)
    """By cell id."""
    conditions: dict[str, SameConditions] = field(default_factory=dict)
    """By cell id."""
    expectations: list[CheckedExpectation] = field(default_factory=list)
    excluded: dict[Block, list[str]] = field(default_factory=dict)
    """Blocks that do not count, and why."""
    verdicts: dict[int, list[EngineVerdict]] = field(default_factory=dict)
    """By number of the comparison: its engines against the reference engine."""
    block_s: dict[int, float] = field(default_factory=dict)
    """By number of the comparison: wall seconds of one of its blocks. Comparisons without a finished trial are left
    out."""

    @property
    def rows(self) -> list[CellSummary]:
        """The rows of all comparisons, in order."""
        return [row for comparison in self.comparisons for row in comparison.rows]


def view_run(
    directory: RunDirectory, results: dict[str, Result] | None = None, read_proof: ProofReader = stored_proof
) -> RunView:
    """Return the view of a run.

    ``results`` and ``read_proof`` replace what is stored: with derived ones ``verify`` sees what the view should be.
    """
    run = directory.run()
    results = stored_results(directory, run) if results is None else results
    excluded = excluded_blocks(run.plan, results)
    rows = summarise(run.plan, results, excluded)
    comparisons = [_comparison_view(i, definition, rows) for i, definition in enumerate(run.suite.comparisons)]
    work: dict[str, SameWork] = {}
    conditions: dict[str, SameConditions] = {}
    for comparison in comparisons:
        blocks = _records_by_block(directory, run, results, comparison)
        reference = next((row.cell.id for row in comparison.rows if row.cell.engine == comparison.reference), "")
        for row in comparison.rows:
            cell = row.cell
            pairs = [(block[cell.id], block[reference]) for block in blocks if {cell.id, reference} <= block.keys()]
            conditions[cell.id] = worst_conditions([compare_conditions(*pair) for pair in pairs])
            screen = worst_work([compare_work(*pair) for pair in pairs])
            trials = [trial for trial, _ in pairs]
            work[cell.id] = _work(directory, run, cell, trials, screen, results, read_proof)
    verdicts = {
        index: comparison_verdicts(
            run.suite,
            index,
            str(comparison.reference),
            run.plan,
            results,
            _admitted(comparison, work, conditions),
            excluded,
        )
        for index, comparison in enumerate(comparisons)
    }
    return RunView(
        run=run,
        comparisons=comparisons,
        results=results,
        work=work,
        conditions=conditions,
        expectations=checked_expectations(run.suite, rows),
        excluded=excluded,
        verdicts=verdicts,
        block_s=_block_s(directory, run, results),
    )


def _admitted(
    comparison: ComparisonView, work: dict[str, SameWork], conditions: dict[str, SameConditions]
) -> dict[str, bool]:
    """Return whether each engine may be ranked: it is proven equal and ran under the same conditions."""
    return {
        str(row.cell.engine): work[row.cell.id].outcome is WorkOutcome.EQUAL
        and conditions[row.cell.id].outcome is ConditionsOutcome.SAME
        for row in comparison.rows
    }


def _work(
    directory: RunDirectory,
    run: Run,
    cell: Cell,
    trials: Sequence[TrialRecords],
    screen: SameWork,
    results: dict[str, Result],
    read_proof: ProofReader,
) -> SameWork:
    """Return the work of a cell: by its proof where the suite has proofs, else by the ``screen`` of its losses."""
    trial = proof_trial(run, cell)
    if trial is None or not run.suite.proofs:
        return screen
    proof = read_proof(directory, run, trial)
    equal = proof.outcome is WorkOutcome.EQUAL
    ranks = directory.proof(trial).records(with_arrays=False).ranks[0] if equal else []
    proven_settings = ranks[0].proof[-1].live if ranks else None
    ends = [end for each in trials if (end := results[each.trial.id].end)]
    return proven_work(proof, proven_settings, trials, screen, ends)


def _comparison_view(index: int, definition: Comparison, rows: list[CellSummary]) -> ComparisonView:
    own_rows = [row for row in rows if row.cell.comparison == index]
    ordered = [row for engine in definition.engines for row in own_rows if row.cell.engine == engine]
    return ComparisonView(definition, ordered)


def _records_by_block(
    directory: RunDirectory, run: Run, results: dict[str, Result], comparison: ComparisonView
) -> list[dict[str, TrialRecords]]:
    """Return, for every block, the records of the trials that ended well, by cell id."""
    ids = {row.cell.id for row in comparison.rows}
    blocks: dict[int, dict[str, TrialRecords]] = {}
    for trial in run.plan:
        if trial.cell.id in ids and trial.id in results and results[trial.id].status is Status.OK:
            blocks.setdefault(trial.block, {})[trial.cell.id] = directory.trial(trial).records(with_arrays=False)
    return list(blocks.values())


def _block_s(directory: RunDirectory, run: Run, results: dict[str, Result]) -> dict[int, float]:
    """Return the seconds that a block of each comparison takes: the median trial of every cell, added up."""
    walls_s: dict[int, dict[str, list[float]]] = {}
    for trial in run.plan:
        if trial.id in results and (wall_s := directory.trial(trial).wall_s()) is not None:
            walls_s.setdefault(trial.cell.comparison, {}).setdefault(trial.cell.id, []).append(wall_s)
    return {index: sum(median(values) for values in cells.values()) for index, cells in walls_s.items()}
