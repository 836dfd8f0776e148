"""Two runs side by side, and whether they are alike enough for that (docs/method.md, "Two runs").

Machines drift between sessions by more than engines differ, and two runs are two sessions: what is said of them is
descriptive. An engine's figure relative to the reference of its own run carries less of that drift.
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
    """A cell of one of the runs."""

    median: float | None
    min: float | None
    max: float | None
    trials: int


class Compared(Model):
    """One cell in both runs; ratios are of times, second / first, below one where the second run was faster."""

    category: str
    workload: str
    engine: str
    metric: str
    unit: str
    first: Side
    second: Side
    ratio: float | None
    ratio_to_reference: float | None
    """Of the engine's time relative to that of its run's reference; null for the reference itself."""


def differing_settings(first: Run, second: Run) -> dict[str, tuple[str, str]]:
    """Return what differs between two runs and would explain a difference of figures: key to the two values."""
    found: dict[str, tuple[object, object]] = {
        "measuring_version": (first.measuring_version, second.measuring_version),
        **{f"machine.{name}": (getattr(first.machine, name), getattr(second.machine, name)) for name in _MACHINE},
    }
    conditions = [run.conditions.model_dump(mode="json") for run in (first, second)]
    found |= {f"conditions.{name}": (value, conditions[1].get(name)) for name, value in conditions[0].items()}
    packages = sorted(first.versions.keys() | second.versions.keys())
    found |= {f"versions.{name}": (first.versions.get(name), second.versions.get(name)) for name in packages}
    cells = [{trial.cell.id: trial.cell for trial in run.plan} for run in (first, second)]
    for name, cell in cells[0].items():
        if (other := cells[1].get(name)) is not None:
            found |= {f"{name}.{field}": (getattr(cell, field), getattr(other, field)) for field in _CELL}
    return {key: (str(one), str(other)) for key, (one, other) in found.items() if one != other}


def refuse_blocking(differences: Mapping[str, tuple[str, str]], allowed: Sequence[str], runs: str) -> None:
    """Raise RequestError where runs differ in more than what is allowed, or not at all in what is allowed.

    ``allowed`` holds keys of ``differences`` or their groups (``versions`` allows ``versions.torch``); ``runs`` names
    the two runs in messages.
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
    others = {summary.cell.id: summary for summary in second[1]}
    found = []
    for summary in first[1]:
        comparison = first[0].suite.comparisons[summary.cell.comparison]
        metric = comparison.confirmatory_metric
        other = others.get(summary.cell.id)
        if metric is None or other is None or metric not in summary.metrics or metric not in other.metrics:
            continue
        reference = comparison.reference_engine
        mine = (s for s in first[1] if s.cell.comparison == summary.cell.comparison)
        base = next((s for s in mine if s.cell.engine == reference), None)
        other_base = others.get(base.cell.id) if base and base is not summary else None
        ratio = _time_ratio(metric, summary, other)
        drift = _time_ratio(metric, base, other_base) if base and other_base else None
        found.append(
            Compared(
                category=summary.cell.category.value,
                workload=summary.cell.workload,
                engine=str(summary.cell.engine),
                metric=metric,
                unit=summary.metrics[metric].unit,
                first=_side(metric, summary),
                second=_side(metric, other),
                ratio=ratio,
                ratio_to_reference=ratio / drift if ratio and drift else None,
            )
        )
    return found


def _side(metric: str, summary: CellSummary) -> Side:
    spread = summary.metrics[metric]
    return Side(median=spread.median, min=spread.min, max=spread.max, trials=spread.n)


def _time_ratio(metric: str, first: CellSummary, second: CellSummary) -> float | None:
    one, other = first.metrics[metric], second.metrics[metric]
    if not one.median or not other.median:
        return None
    return one.median / other.median if one.better == Better.HIGHER else other.median / one.median
