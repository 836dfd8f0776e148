"""Two runs side by side, and whether they are alike enough for that (docs/method.md, "Two runs").

Machines drift between sessions by more than engines differ, and two runs are two sessions. The comparison is therefore
descriptive, without verdicts. An engine's time relative to the reference engine of its own run carries less drift.
"""

from collections.abc import Mapping, Sequence

from paceline.analysis.whole_run.summary import CellSummary
from paceline.errors import RequestError
from paceline.schema.metrics import Better
from paceline.schema.model import Model
from paceline.schema.run import Run

_MACHINE = ("cpu_model", "cpu_devices", "gpu_names", "memory_bytes", "os")
_CELL = ("micro_batch", "accumulation", "steps", "warm_up_steps", "dataset", "samples", "recipe", "variant", "load")


class Side(Model):
    """A cell's metric in one of the runs, over its trials."""

    median: float | None
    min: float | None
    max: float | None
    trials: int


class Compared(Model):
    """One cell in both runs. Ratios are of times, second / first: below one where the second run was faster."""

    category: str
    workload: str
    engine: str
    metric: str
    unit: str
    first: Side
    second: Side
    ratio: float | None
    ratio_to_reference: float | None
    """Ratio of the engine's times relative to the reference engine of their own run; null for the reference engine."""


def differing_settings(first: Run, second: Run) -> dict[str, tuple[str, str]]:
    """Return the settings that differ between two runs and could explain other figures: key to the two values."""
    values: dict[str, tuple[object, object]] = {
        "measuring_version": (first.measuring_version, second.measuring_version),
        **{f"machine.{name}": (getattr(first.machine, name), getattr(second.machine, name)) for name in _MACHINE},
    }
    conditions = [run.conditions.model_dump(mode="json") for run in (first, second)]
    values |= {f"conditions.{name}": (value, conditions[1].get(name)) for name, value in conditions[0].items()}
    packages = sorted(first.versions.keys() | second.versions.keys())
    values |= {f"versions.{name}": (first.versions.get(name), second.versions.get(name)) for name in packages}
    cells = [{trial.cell.id: trial.cell for trial in run.plan} for run in (first, second)]
    for name, cell in cells[0].items():
        if (other := cells[1].get(name)) is not None:
            values |= {f"{name}.{field}": (getattr(cell, field), getattr(other, field)) for field in _CELL}
    return {key: (str(one), str(other)) for key, (one, other) in values.items() if one != other}


def refuse_blocking(differences: Mapping[str, tuple[str, str]], allowed: Sequence[str], runs: str) -> None:
    """Raise RequestError where runs differ in a key that is not allowed, or do not differ in one that is.

    ``allowed``: keys of ``differences``, or groups of keys (``versions`` allows ``versions.torch``). ``runs``: names of
    the two runs, for messages.
    """

    def allows(name: str, key: str) -> bool:
        return key == name or key.startswith(f"{name}.")

    for name in allowed:
        if not any(allows(name, key) for key in differences):
            listed = ", ".join(differences) or "nothing"
            raise RequestError(f"--allow {name}: the runs do not differ in that; they differ in {listed}")
    blocking = {k: v for k, v in differences.items() if not any(allows(name, k) for name in allowed)}
    if blocking:
        listed = "\n".join(f"  {key}: {one} / {other}" for key, (one, other) in blocking.items())
        raise RequestError(
            f"{runs} are not alike, so their figures cannot be compared:\n{listed}\n"
            "if such a difference is the point, name it: --allow KEY"
        )


def compare_cells(
    first: tuple[Run, Sequence[CellSummary]], second: tuple[Run, Sequence[CellSummary]]
) -> list[Compared]:
    """Return the cells that both runs have, in the order of the first."""
    first_run, first_rows = first
    second_rows = {row.cell.id: row for row in second[1]}
    compared = []
    for row in first_rows:
        definition = first_run.suite.comparisons[row.cell.comparison]
        metric = definition.confirmatory_metric
        second_row = second_rows.get(row.cell.id)
        if metric is None or second_row is None or metric not in row.metrics or metric not in second_row.metrics:
            continue
        table = (other for other in first_rows if other.cell.comparison == row.cell.comparison)
        reference = next((other for other in table if other.cell.engine == definition.reference_engine), None)
        second_reference = second_rows.get(reference.cell.id) if reference and reference is not row else None
        ratio = _time_ratio(metric, row, second_row)
        drift = _time_ratio(metric, reference, second_reference) if reference and second_reference else None
        compared.append(
            Compared(
                category=row.cell.category.value,
                workload=row.cell.workload,
                engine=str(row.cell.engine),
                metric=metric,
                unit=row.metrics[metric].unit,
                first=_side(metric, row),
                second=_side(metric, second_row),
                ratio=ratio,
                ratio_to_reference=ratio / drift if ratio and drift else None,
            )
        )
    return compared


def _side(metric: str, row: CellSummary) -> Side:
    spread = row.metrics[metric]
    return Side(median=spread.median, min=spread.min, max=spread.max, trials=spread.n)


def _time_ratio(metric: str, first: CellSummary, second: CellSummary) -> float | None:
    """Return the ratio of median times, second / first; null where a median is missing or zero."""
    one, other = first.metrics[metric], second.metrics[metric]
    if not one.median or not other.median:
        return None
    return one.median / other.median if one.better == Better.HIGHER else other.median / one.median
