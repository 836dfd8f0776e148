"""Side by side: what proof trials of a workload recorded, step by step, and every live setting of timed trials."""

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
    """Return the proofs of a workload and what its timed trials ran on. Raises RequestError when the run has none."""
    known = {c.definition.workload for c in view.comparisons}
    if workload not in known:
        raise RequestError(f"workload {workload!r} is not in this run: {nearest(workload, known)}")
    parts = [*_proofs(view, directory, workload), *_timed(view, directory, workload)]
    return Group(*parts) if parts else Text("no finished trial of this workload")


def _proofs(view: RunView, directory: RunDirectory, workload: str) -> Iterator[RenderableType]:
    """Yield, for every single process, the engines that were compared with it."""
    groups: dict[str, list[Trial]] = {}
    for trial in proof_trials(view.run):
        if trial.cell.workload == workload and _recorded(directory.proof(trial)):
            groups.setdefault(reference_trial(view.run, trial).id, []).append(trial)
    for trials in groups.values():
        reference = directory.proof(reference_trial(view.run, trials[0]))
        found = {"single process": _proven(reference)} if _recorded(reference) else {}
        found |= {str(t.cell.engine): _proven(directory.proof(t)) for t in trials}
        cell = trials[0].cell
        shape = (
            f"{cell.ranks} rank{'s' if cell.ranks > 1 else ''}, {cell.accumulation} x {cell.micro_batch} samples each"
        )
        for title, part, read in (
            ("loss", Part.TRAINING, ProofRecords.losses),
            ("norm of the gradient that enters the optimiser", Part.TRAINING, ProofRecords.gradient_norms),
            ("norm of the scaled gradient", Part.GRADIENTS, ProofRecords.gradient_norms),
        ):
            yield _by_step(f"{workload}, {shape}, fp32: {title}", found, part, read)
        for trial in trials:
            proof = stored_proof(directory, view.run, trial)
            yield Text(f"{trial.cell.engine}: {proof.outcome}: {proof.cause}")
        yield Text()


def _recorded(folder: TrialDirectory) -> bool:
    return folder.finished and folder.result().status is Status.OK


def _proven(folder: TrialDirectory) -> ProofRecords:
    return ProofRecords(folder.records(with_arrays=False).ranks[0], {})


def _by_step(
    title: str, found: dict[str, ProofRecords], part: Part, read: Callable[[ProofRecords, str], Array]
) -> Group:
    columns = {name: [f"{value:.8g}" for value in read(proven, part)] for name, proven in found.items()}
    return _side_by_side(title, "step", [str(step + 1) for step in range(STEPS[part])], columns)


def _side_by_side(title: str, corner: str, names: list[str], columns: dict[str, list[str]]) -> Group:
    """Return a table of named rows and a column an engine; engines whose columns read alike share one, by a letter."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for engine, column in columns.items():
        alike.setdefault(tuple(column), []).append(engine)
    table = plain_table()
    table.add_column(corner)
    letters, legend = _letters(), []
    for engines in alike.values():
        if len(engines) == 1 and len(alike) <= NAMED_COLUMNS:
            table.add_column(engines[0], overflow="fold")
            continue
        letter = next(letters)
        table.add_column(letter, overflow="fold")
        legend.append(Text(f"{letter}: {', '.join(engines)}"))
    for name, row in zip(names, zip(*alike, strict=True), strict=True):
        table.add_row(name, *row)
    return Group(Text(title, style="bold"), *legend, table, Text())


def _letters() -> Iterator[str]:
    return (f"{letter}{number or ''}" for number in count() for letter in ascii_uppercase)


def _timed(view: RunView, directory: RunDirectory, workload: str) -> Iterator[RenderableType]:
    for comparison in view.comparisons:
        if comparison.definition.workload != workload:
            continue
        ids = [row.cell.id for row in comparison.rows]
        trials = [
            directory.trial(t).records(with_arrays=False)
            for t in view.run.plan
            if t.block == 0 and t.cell.id in ids and _recorded(directory.trial(t))
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
    """Yield every setting: those in which engines differ with a column an engine, the others once."""
    flat = {str(trial.trial.cell.engine): _flat(trial) for trial in trials}
    names = list(dict.fromkeys(key for column in flat.values() for key in column))
    rows = {name: [str(column.get(name, "-")) for column in flat.values()] for name in names}
    differing = [name for name, row in rows.items() if len(set(row)) > 1]
    if differing:
        columns = {engine: [rows[name][i] for name in differing] for i, engine in enumerate(flat)}
        yield _side_by_side("Settings read back from live objects: not alike", "≠ setting", differing, columns)
    alike = [name for name in names if name not in differing]
    values = {"all engines": [rows[name][0] for name in alike]}
    yield _side_by_side("Settings read back from live objects: alike", "setting", alike, values)


def _flat(trial: TrialRecords) -> dict[str, Any]:
    rank = trial.ranks[0][0]
    live = rank.live.model_dump(mode="json") if rank.live else {}
    optimiser = {f"optimiser {k}": v for k, v in live.pop("optimiser_settings", {}).items()}
    conditions = dict(rank.conditions or {})
    tables = [conditions.pop(name, None) or {} for name in ("environment", "other_environment")]
    return {**live, **optimiser, **conditions, **tables[0], **tables[1]}
