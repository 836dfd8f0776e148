"""From what the user asks for to a run that can be executed. All errors in a request are found here."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from paceline.conductor.machine.inventory import inspect_machine, installed_versions
from paceline.conductor.planning.filters import Filters, select
from paceline.conductor.planning.plan import Plan, make_plan
from paceline.conductor.planning.suites import load_suite, override
from paceline.conductor.planning.workload_facts import described_workloads, with_counted_flops
from paceline.errors import RequestError, nearest, quoted
from paceline.schema.conditions import Conditions, Policy
from paceline.schema.run import Run
from paceline.schema.suite import MAX_BLOCKS
from paceline.store.run_directory import RunDirectory

_UNITS_S = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Request:
    """The suite and options that a user asks for."""

    suite: str | None
    filters: Filters = field(default_factory=Filters)
    blocks: int | None = None
    conditions: str = Policy.NORMALISED
    seed: int = 0
    assignments: tuple[str, ...] = ()
    """Each ``key=value`` given with ``--set``."""


def seconds(text: str) -> float:
    """Return the seconds in a text such as ``90s``, ``10m`` or ``2h``. Raises RequestError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if match is None or float(match[1]) == 0:
        raise RequestError(f"budget {quoted(text)} is not a time: write for example 90s, 10m or 2h")
    return float(match[1]) * _UNITS_S[match[2]]


def names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def planned(request: Request) -> Plan:
    """Return the plan of a request; no trial is started. Raises RequestError when something in the request is wrong."""
    if request.suite is None:
        raise RequestError("no suite was named: paceline run quick, or paceline list suites")
    if request.blocks is not None and not 1 <= request.blocks <= MAX_BLOCKS:
        raise RequestError(f"--blocks {request.blocks} is not between 1 and {MAX_BLOCKS}")
    if request.conditions not in set(Policy):
        raise RequestError(
            f"unknown conditions {quoted(request.conditions)}: {nearest(request.conditions, list(Policy))}"
        )
    suite = select(override(load_suite(request.suite), request.assignments), request.filters)
    if request.blocks is not None:
        minimum = min(request.blocks, suite.minimum_blocks)
        suite = suite.model_copy(update={"blocks": request.blocks, "minimum_blocks": minimum})
    conditions = Conditions(policy=Policy(request.conditions))
    return make_plan(suite, described_workloads(suite), inspect_machine(), conditions, request.seed)


def new_run(plan: Plan, tell: Callable[[str], None]) -> Run:
    """Return the run that carries out a plan, with the FLOPs of its workloads counted.

    ``tell`` is called with a line of text before anything that takes seconds. Raises RequestError when the plan needs
    packages that are not installed.
    """
    if plan.unavailable:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in plan.unavailable.items())
        raise RequestError(f"{reasons}. Or leave those out with --engines")
    return Run(
        suite=plan.suite,
        command=tuple(sys.argv),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=plan.machine,
        versions=installed_versions(),
        conditions=plan.conditions,
        seed=plan.seed,
        estimate_s=plan.estimate_s,
        plan=with_counted_flops(plan.trials, plan.suite.import_path, tell),
        notes=tuple(plan.notes),
    )


def begin(plan: Plan, out: Path | None, tell: Callable[[str], None]) -> RunDirectory:
    """Make the run directory of a plan, by default a new one under ``runs/``.

    Raises RequestError as ``new_run`` does, and when the directory cannot be made.
    """
    run = new_run(plan, tell)
    return RunDirectory.create(out or default_directory(run), run)


def resumed_run(directory: RunDirectory, suite_name: str | None) -> Run:
    """Return the run of a directory that is to be continued.

    Raises RequestError for another suite, other versions or another machine than it was begun with.
    """
    run = directory.run()
    described_workloads(run.suite)  # raises RequestError if a custom class has been broken since
    if suite_name is not None and suite_name != run.suite.name:
        raise RequestError(
            f"{directory.path} holds suite {run.suite.name!r}, not {quoted(suite_name)}: leave the name out"
        )
    begun_with, installed = run.versions, installed_versions()
    changed = [
        f"{package} {begun_with.get(package)} -> {installed.get(package)}"
        for package in installed | begun_with
        if begun_with.get(package) != installed.get(package)
    ]
    if changed:
        raise RequestError(f"{directory.path} was begun with other versions ({', '.join(changed)}): start a new run")
    machine = inspect_machine()
    if (machine.cpu_model, machine.cpu_devices) != (run.machine.cpu_model, run.machine.cpu_devices):
        raise RequestError(f"{directory.path} was begun on another machine or core set: start a new run")
    return run


def default_directory(run: Run) -> Path:
    """Return a path under ``runs/`` that is named after suite and time."""
    return Path("runs") / f"{run.suite.name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def estimated_minutes(suite_name: str, policy: Policy) -> float:
    """Return the estimated minutes of a whole built-in suite on this machine."""
    return planned(Request(suite_name, conditions=policy)).estimate_s / 60
