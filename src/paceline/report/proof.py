"""Side by side: what proof trials of a workload recorded, step by step, and every live setting of timed trials."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from paceline.analysis.agreement import loss_table
from paceline.analysis.proof import Array, Proven
from paceline.bench.proofs import proof_trials, reference_trial
from paceline.report.tables import plain_table
from paceline.report.view import RunView, stored_proof
from paceline.spec.errors import RequestError, nearest
from paceline.spec.proof import Part
from paceline.spec.records import SCREENED_STEPS
from paceline.spec.trial import Status, Trial
from paceline.store.run_directory import RunDirectory, TrialDirectory, TrialRecords


def proof_tables(view: RunView, directory: RunDirectory, workload: str) -> RenderableType:
    """Return the proofs of a workload and what its timed trials ran on. Raises RequestError when the run has none."""
    known = {c.comparison.workload for c in view.comparisons}
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
            ("loss", Part.TRAINING, Proven.losses),
            ("norm of the gradient that enters the optimiser", Part.TRAINING, Proven.gradient_norms),
            ("norm of the scaled gradient", Part.GRADIENTS, Proven.gradient_norms),
        ):
            yield _by_step(f"{workload}, {shape}, fp32: {title}", found, part, read)
        for trial in trials:
            outcome = stored_proof(directory, view.run, trial)
            yield Text(f"{trial.cell.engine}: {outcome.outcome}: {outcome.cause}")
        yield Text()


def _recorded(folder: TrialDirectory) -> bool:
    return folder.finished and folder.result().status is Status.OK


def _proven(folder: TrialDirectory) -> Proven:
    return Proven(folder.records(with_arrays=False).ranks[0], {})


def _by_step(title: str, found: dict[str, Proven], part: Part, read: Callable[[Proven, str], Array]) -> Group:
    table = plain_table()
    table.add_column("step", justify="right")
    for name in found:
        table.add_column(name, justify="right", overflow="fold")
    for step, row in enumerate(zip(*(read(proven, part) for proven in found.values()), strict=True), 1):
        table.add_row(str(step), *(f"{value:.8g}" for value in row))
    return Group(Text(title, style="bold"), table, Text())


def _timed(view: RunView, directory: RunDirectory, workload: str) -> Iterator[RenderableType]:
    for comparison in view.comparisons:
        if comparison.comparison.workload != workload:
            continue
        ids = [cell.cell.id for cell in comparison.cells]
        trials = [
            directory.trial(t).records(with_arrays=False)
            for t in view.run.plan
            if t.block == 0 and t.cell.id in ids and _recorded(directory.trial(t))
        ]
        trials.sort(key=lambda t: ids.index(t.trial.cell.id))
        if trials:
            yield _losses(comparison.comparison.category.heading, trials)
            yield _settings(trials)


def _losses(title: str, trials: Sequence[TrialRecords]) -> Table:
    table = plain_table()
    table.title = f"{title}, timed trials: loss a step (mean over ranks; job 0, block 1)"
    table.add_column("step", justify="right")
    for trial in trials:
        table.add_column(str(trial.trial.cell.engine), justify="right", overflow="fold")
    for step, row in enumerate(loss_table(trials, SCREENED_STEPS)):
        table.add_row(str(step + 1), *("-" if loss is None else f"{loss:.7f}" for loss in row))
    return table


def _settings(trials: Sequence[TrialRecords]) -> Table:
    table = plain_table()
    table.title = "Settings read back from live objects (≠ marks a difference)"
    table.add_column("")
    table.add_column("setting")
    for trial in trials:
        table.add_column(str(trial.trial.cell.engine), overflow="fold")
    columns = [_flat(trial) for trial in trials]
    for name in dict.fromkeys(key for column in columns for key in column):
        values = [str(column.get(name, "-")) for column in columns]
        table.add_row("≠" if len(set(values)) > 1 else "", name, *values)
    return table


def _flat(trial: TrialRecords) -> dict[str, Any]:
    rank = trial.ranks[0][0]
    live = rank.live.model_dump(mode="json") if rank.live else {}
    optimiser = {f"optimiser {k}": v for k, v in live.pop("optimiser_settings", {}).items()}
    conditions = dict(rank.conditions or {})
    environment = conditions.pop("environment", {}) or {}
    return {**live, **optimiser, **conditions, **environment}
