"""A plan as a table and as a JSON document, and the lines with which a run begins."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from paceline.report import PROSE_COLUMNS
from paceline.schema.run import Run
from paceline.schema.suite import Suite
from paceline.schema.trial import Trial

COLUMNS = ("block", "category", "workload", "engine", "ranks", "jobs", "estimate s")


def plan_document(
    suite: Suite, trials: Sequence[Trial], unavailable: Mapping[str, str], notes: Sequence[str]
) -> dict[str, Any]:
    """Return a plan as plain values, for ``run --dry-run --json``."""
    return {
        "suite": suite.name,
        "trials": [
            {
                "id": trial.id,
                "category": trial.cell.category,
                "engine": str(trial.cell.engine),
                "workload": trial.cell.workload,
                "block": trial.block,
                "estimate_s": round(trial.estimate_s or 0.0, 1),
            }
            for trial in trials
        ],
        "estimate_s": round(_estimate_s(trials), 1),
        "unavailable": dict(unavailable),
        "notes": list(notes),
    }


def plan_table(suite: Suite, trials: Sequence[Trial], unavailable: Mapping[str, str], notes: Sequence[str]) -> Group:
    """Return one row a trial, then the reasons why some cannot run, and the estimated time of all.

    ``unavailable``: engine or workload to the reason why it cannot run here.
    """
    title = f"Plan of suite {suite.name} (nothing is started)"
    table = Table(*COLUMNS, title=title, title_justify="left", pad_edge=False)
    for trial in trials:
        cell = trial.cell
        mark = " (unavailable)" if {str(cell.engine), cell.workload} & unavailable.keys() else ""
        table.add_row(
            str(trial.block + 1),
            cell.category,
            cell.workload,
            f"{cell.engine}{mark}",
            str(cell.ranks),
            str(cell.load.jobs),
            f"{trial.estimate_s or 0.0:.0f}",
        )
    missing = [Text(f"{name}: {reason}") for name, reason in unavailable.items()]
    cost = f"{len(trials)} trials, about {_estimate_s(trials) / 60:.1f} min (estimate)"
    return Group(table, *missing, *map(Text, notes), Text(cost))


def _estimate_s(trials: Sequence[Trial]) -> float:
    return sum(trial.estimate_s or 0.0 for trial in trials)


def opening_lines(run: Run, trials: Sequence[tuple[Trial, float]], path: Path) -> list[str]:
    """Return what is to be run, about how long it takes and where it is written; ``trials`` come with their seconds.

    Sentences fit ``PROSE_COLUMNS``; the path is never broken.
    """
    timed = [seconds for trial, seconds in trials if trial.proof is None]
    proofs = [seconds for trial, seconds in trials if trial.proof is not None]
    proving = f", and {len(proofs)} proofs of same work, about {sum(proofs) / 60:.1f} min," if proofs else ""
    sentence = (
        f"Suite {run.suite.name}: {len(timed)} trials, about {sum(timed) / 60:.1f} min{proving} "
        f"(estimates) on {run.machine.cpu_model}, {len(run.machine.cpu_devices)} cores."
    )
    return [*wrap(sentence, PROSE_COLUMNS), f"Run directory: {path}"]
