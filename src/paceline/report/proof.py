"""Side by side: losses per step of every engine on one workload, and every live setting, differing ones marked."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from paceline.analysis.agreement import loss_table
from paceline.report.tables import plain_table
from paceline.report.view import RunView
from paceline.spec.errors import RequestError, nearest
from paceline.spec.records import SCREENED_STEPS
from paceline.spec.trial import Status
from paceline.store.run_directory import RunDirectory, TrialRecords


def proof_tables(view: RunView, directory: RunDirectory, workload: str) -> RenderableType:
    """Return one pair of tables a comparison of the workload. Raises RequestError when the run has none."""
    known = {c.comparison.workload for c in view.comparisons}
    if workload not in known:
        raise RequestError(f"workload {workload!r} is not in this run: {nearest(workload, known)}")
    parts: list[RenderableType] = []
    for comparison in view.comparisons:
        if comparison.comparison.workload != workload:
            continue
        ids = [cell.cell.id for cell in comparison.cells]
        trials = [
            directory.trial(t).records()
            for t in view.run.plan
            if t.block == 0
            and t.cell.id in ids
            and directory.trial(t).finished
            and directory.trial(t).result().status is Status.OK
        ]
        trials.sort(key=lambda t: ids.index(t.trial.cell.id))
        if trials:
            parts += [_losses(comparison.comparison.category.heading, trials), _settings(trials)]
    return Group(*parts) if parts else Text("no finished trial of this workload")


def _losses(title: str, trials: list[TrialRecords]) -> Table:
    table = plain_table()
    table.title = f"{title}: loss a step (mean over ranks; job 0, block 1)"
    table.add_column("step", justify="right")
    for trial in trials:
        table.add_column(str(trial.trial.cell.engine), justify="right", overflow="fold")
    for step, row in enumerate(loss_table(trials, SCREENED_STEPS)):
        table.add_row(str(step + 1), *("-" if loss is None else f"{loss:.7f}" for loss in row))
    return table


def _settings(trials: list[TrialRecords]) -> Table:
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
