"""Engines side by side: what a workload's proof trials recorded step by step, and the settings of its timed trials."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from string import ascii_uppercase
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from paceline.analysis.same_work.differences import Array, ProofRecords
from paceline.analysis.same_work.proof_trials import proof_trials, reference_trial
from paceline.analysis.same_work.timed_trials import loss_table
from paceline.analysis.whole_run.stored_proofs import stored_proof
from paceline.analysis.whole_run.view import RunView
from paceline.errors import RequestError, nearest
from paceline.report.tables import plain_table
from paceline.schema.proof import STEPS, Part
from paceline.schema.records import SCREENED_STEPS
from paceline.schema.trial import Status, Trial
from paceline.schema.trial_records import TrialRecords
from paceline.store.run_directory import RunDirectory, TrialDirectory

NAMED_COLUMNS = 3
"""Up to this many columns carry engine names; beyond, letters with a legend."""


def proof_tables(view: RunView, directory: RunDirectory, workload: str) -> RenderableType:
    """Return the proofs of a workload, then losses and settings of its timed trials.

    Raises RequestError when the run does not have the workload.
    """
    known = {comparison.definition.workload for comparison in view.comparisons}
    if workload not in known:
        raise RequestError(f"workload {workload!r} is not in this run: {nearest(workload, known)}")
    tables = [*_proofs(view, directory, workload), *_timed(view, directory, workload)]
    return Group(*tables) if tables else Text("no finished trial of this workload")


def _proofs(view: RunView, directory: RunDirectory, workload: str) -> Iterator[RenderableType]:
    """Yield, for every reference process, its records beside those of the engines that are compared with it."""
    trials_by_reference: dict[str, list[Trial]] = {}
    for trial in proof_trials(view.run):
        if trial.cell.workload == workload and _ended_well(directory.proof(trial)):
            trials_by_reference.setdefault(reference_trial(view.run, trial).id, []).append(trial)
    for trials in trials_by_reference.values():
        reference = directory.proof(reference_trial(view.run, trials[0]))
        records = {"single process": _proof_records(reference)} if _ended_well(reference) else {}
        records |= {str(t.cell.engine): _proof_records(directory.proof(t)) for t in trials}
        cell = trials[0].cell
        shape = (
            f"{cell.ranks} rank{'s' if cell.ranks > 1 else ''}, {cell.accumulation} x {cell.micro_batch} samples each"
        )
        for title, part, read in (
            ("loss", Part.TRAINING, ProofRecords.losses),
            ("norm of the gradient that enters the optimiser", Part.TRAINING, ProofRecords.gradient_norms),
            ("norm of the scaled gradient", Part.GRADIENTS, ProofRecords.gradient_norms),
        ):
            yield _by_step(f"{workload}, {shape}, fp32: {title}", records, part, read)
        for trial in trials:
            proof = stored_proof(directory, view.run, trial)
            yield Text(f"{trial.cell.engine}: {proof.outcome}: {proof.cause}")
        yield Text()


def _ended_well(folder: TrialDirectory) -> bool:
    return folder.finished and folder.result().status is Status.OK


def _proof_records(folder: TrialDirectory) -> ProofRecords:
    """Return the records of a proof trial without its arrays, which losses and gradient norms do not need."""
    return ProofRecords(folder.records(with_arrays=False).ranks[0], {})


def _by_step(
    title: str, records: dict[str, ProofRecords], part: Part, read: Callable[[ProofRecords, str], Array]
) -> Group:
    """Return a table of one quantity: a row a step, a column for the reference process and for each engine."""
    columns = {name: [f"{value:.8g}" for value in read(record, part)] for name, record in records.items()}
    return _side_by_side(title, "step", [str(step + 1) for step in range(STEPS[part])], columns)


def _side_by_side(title: str, corner: str, names: list[str], columns: dict[str, list[str]]) -> Group:
    """Return a table of named rows with a column for each engine.

    Engines with equal columns share one, which a letter names, and a legend above the table explains the letters.
    """
    engines_by_column: dict[tuple[str, ...], list[str]] = {}
    for engine, column in columns.items():
        engines_by_column.setdefault(tuple(column), []).append(engine)
    table = plain_table()
    table.add_column(corner)
    letters, legend = _letters(), []
    for engines in engines_by_column.values():
        if len(engines) == 1 and len(engines_by_column) <= NAMED_COLUMNS:
            table.add_column(engines[0], overflow="fold")
            continue
        letter = next(letters)
        table.add_column(letter, overflow="fold")
        legend.append(Text(f"{letter}: {', '.join(engines)}"))
    for name, values in zip(names, zip(*engines_by_column, strict=True), strict=True):
        table.add_row(name, *values)
    return Group(Text(title, style="bold"), *legend, table, Text())


def _letters() -> Iterator[str]:
    """Return an endless series of names: A to Z, then A1 to Z1, and so on."""
    return (f"{letter}{number or ''}" for number in count() for letter in ascii_uppercase)


def _timed(view: RunView, directory: RunDirectory, workload: str) -> Iterator[RenderableType]:
    """Yield, for every comparison of a workload, losses and settings of its timed trials in the first block."""
    for comparison in view.comparisons:
        if comparison.definition.workload != workload:
            continue
        ids = [row.cell.id for row in comparison.rows]
        trials = [
            directory.trial(t).records(with_arrays=False)
            for t in view.run.plan
            if t.block == 0 and t.cell.id in ids and _ended_well(directory.trial(t))
        ]
        trials.sort(key=lambda t: ids.index(t.trial.cell.id))
        if trials:
            yield _losses(comparison.definition.category.heading, trials)
            yield from _settings(trials)


def _losses(title: str, trials: Sequence[TrialRecords]) -> Group:
    rows = loss_table(trials, SCREENED_STEPS)
    columns = {
        str(trial.trial.cell.engine): ["-" if loss is None else f"{loss:.7f}" for loss in column]
        for trial, column in zip(trials, zip(*rows, strict=True), strict=True)
    }
    steps = [str(step + 1) for step in range(len(rows))]
    return _side_by_side(
        f"{title}, timed trials: loss a step (mean over ranks; job 0, block 1)", "step", steps, columns
    )


def _settings(trials: Sequence[TrialRecords]) -> Iterator[RenderableType]:
    """Yield a table of the settings in which engines differ, a column for each engine, and one of all others."""
    settings = {str(trial.trial.cell.engine): _all_settings(trial) for trial in trials}
    names = list(dict.fromkeys(name for of_engine in settings.values() for name in of_engine))
    rows = {name: [str(of_engine.get(name, "-")) for of_engine in settings.values()] for name in names}
    differing = [name for name, values in rows.items() if len(set(values)) > 1]
    if differing:
        columns = {engine: [rows[name][i] for name in differing] for i, engine in enumerate(settings)}
        yield _side_by_side("Settings read back from live objects: not alike", "≠ setting", differing, columns)
    alike = [name for name in names if name not in differing]
    columns = {"all engines": [rows[name][0] for name in alike]}
    yield _side_by_side("Settings read back from live objects: alike", "setting", alike, columns)


def _all_settings(trial: TrialRecords) -> dict[str, Any]:
    """Return all settings that rank 0 of job 0 read back, by name, without nesting."""
    rank = trial.ranks[0][0]
    live = rank.live.model_dump(mode="json") if rank.live else {}
    optimiser = {f"optimiser {k}": v for k, v in live.pop("optimiser_settings", {}).items()}
    conditions = dict(rank.conditions or {})
    tables = [conditions.pop(name, None) or {} for name in ("environment", "other_environment")]
    return {**live, **optimiser, **conditions, **tables[0], **tables[1]}
