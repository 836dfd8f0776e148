"""Builders of whole runs without running anything: trials with results of given values, and the view of them."""

from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType

from paceline.analysis.same_work.same_conditions import SameConditions
from paceline.analysis.same_work.timed_trials import SameWork
from paceline.analysis.whole_run.excluded_blocks import excluded_blocks
from paceline.analysis.whole_run.expectations import checked_expectations
from paceline.analysis.whole_run.summary import summarise
from paceline.analysis.whole_run.view import ComparisonView, RunView
from paceline.schema.conditions import GIB, Conditions, ConditionsOutcome
from paceline.schema.engine import EngineName
from paceline.schema.metrics import METRICS
from paceline.schema.proof import WorkOutcome
from paceline.schema.records import Flag, FlagName, Measure, Result
from paceline.schema.run import Machine, Run
from paceline.schema.suite import Comparison, Suite
from paceline.schema.trial import Status, Trial
from support.builders import make_cell

MACHINE = Machine(
    host="here", os="Linux 6.1", cpu_model="a CPU", cpus_os=2, cpus_affinity=2, cpus_cgroup=None, cpu_devices=(0, 1),
    gpu_names=(), memory_bytes=16 * GIB, memory_limit_bytes=None, dev_shm_bytes=GIB,
)  # fmt: skip
EQUAL = SameWork(outcome=WorkOutcome.EQUAL, steps=12, max_relative_difference=3e-6, cause="equal")
UNPROVEN = SameWork(outcome=WorkOutcome.UNPROVEN, steps=0, max_relative_difference=None, cause="nobody has proven it")
OTHER_WORK = SameWork(outcome=WorkOutcome.DIFFERENT, steps=12, max_relative_difference=0.5, cause="it clips")
SAME = SameConditions(outcome=ConditionsOutcome.SAME)
OTHER_CONDITIONS = SameConditions(outcome=ConditionsOutcome.DIFFERENT, differences=["intraop_threads: 2 / 1"])


def make_trial(engine: str = "fake/one", block: int = 0, **cell: Any) -> Trial:
    """Return one planned trial of the plain cell, with changes to the cell."""
    return Trial(
        id=f"{engine.replace('/', '-')}-{cell.get('comparison', 0)}-{block}",
        cell=make_cell(engine=EngineName.parse(engine), **cell),
        block=block,
        position=0,
        seed=0,
        conditions=Conditions(),
        devices=(0, 1),
    )


def make_result(
    trial: Trial,
    status: Status = Status.OK,
    cause: str | None = None,
    flags: dict[FlagName, str] | None = None,
    **values: float | None,
) -> Result:
    """Return what became of a trial: its metrics by name, null ones with a reason."""
    measures = {
        name: Measure(
            value=value, unit=METRICS[name].unit, better=METRICS[name].better, reduction=METRICS[name].reduction,
            reason="not measured" if value is None else None,
        )
        for name, value in values.items()
    }  # fmt: skip
    raised = [Flag(name=name, message=message) for name, message in (flags or {}).items()]
    return Result(trial_id=trial.id, status=status, cause=cause, measures=measures, flags=raised)


def make_comparison(*engines: str, **changes: Any) -> Comparison:
    """Return a comparison of the plain cell on these engines."""
    cell = make_cell()
    fields = {"category": cell.category, "workload": cell.workload, "engines": engines, "steps": cell.steps}
    return Comparison(**(fields | changes))


def make_run(comparisons: Sequence[Comparison], trials: Iterable[Trial], **changes: Any) -> Run:
    """Return a run of a suite with these comparisons and this plan."""
    plan = tuple(trials)
    suite = Suite(name="test", description="-", blocks=1 + max(t.block for t in plan), comparisons=tuple(comparisons))
    fields = {
        "suite": suite, "command": (), "started_at": "2026-01-01T00:00:00+00:00", "machine": MACHINE,
        "versions": {"torch": "2.9.0"}, "conditions": Conditions(), "seed": 0, "estimate_s": 0.0, "plan": plan,
    }  # fmt: skip
    return Run(**(fields | changes))


def make_view(
    run: Run,
    results: Iterable[Result],
    work: dict[str, SameWork] | None = None,
    conditions: dict[str, SameConditions] | None = None,
    **more: Any,
) -> RunView:
    """Return the view of a run; ``work`` and ``conditions`` are given by engine, else equal and the same."""
    found = {result.trial_id: result for result in results}
    excluded = excluded_blocks(run.plan, found)
    rows = summarise(run.plan, found, excluded)
    of_engine = {row.cell.id: str(row.cell.engine) for row in rows}
    return RunView(
        run=run,
        comparisons=[
            ComparisonView(comparison, [row for row in rows if row.cell.comparison == index])
            for index, comparison in enumerate(run.suite.comparisons)
        ],
        results=found,
        work={cell: (work or {}).get(engine, EQUAL) for cell, engine in of_engine.items()},
        conditions={cell: (conditions or {}).get(engine, SAME) for cell, engine in of_engine.items()},
        excluded=excluded,
        expectations=checked_expectations(run.suite, rows),
        **more,
    )


def text_of(*parts: RenderableType) -> str:
    """Return what a terminal of 160 columns shows, without colours."""
    shown = StringIO()
    console = Console(file=shown, width=160, highlight=False, color_system=None)
    for part in parts:
        console.print(part)
    return shown.getvalue()


def rows_of(*parts: RenderableType) -> list[list[str]]:
    """Return the words of each line that a terminal shows."""
    return [line.split() for line in text_of(*parts).splitlines()]
