"""From what was typed to a run that can be executed: what can be wrong is found here, before anything starts."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from paceline.bench import estimate, facts, proofs
from paceline.bench.machine import inspect_machine, installed_versions
from paceline.bench.plan import Filters, Plan, make_plan, select
from paceline.bench.suites import load_suite, override
from paceline.spec.conditions import Conditions, Policy
from paceline.spec.errors import RequestError, nearest, quoted
from paceline.spec.run import Run
from paceline.spec.suite import MAX_BLOCKS
from paceline.spec.trial import Trial
from paceline.store.run_directory import RunDirectory

_UNITS_S = {"s": 1, "m": 60, "h": 3600}


def seconds(text: str) -> float:
    """Return the seconds of ``90s``, ``10m`` or ``2h``. Raises RequestError for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if found is None or float(found[1]) == 0:
        raise RequestError(f"budget {quoted(text)} is not a time: write for example 90s, 10m or 2h")
    return float(found[1]) * _UNITS_S[found[2]]


def names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def requested(
    suite_name: str | None,
    *,
    engines: tuple[str, ...] = (),
    workloads: tuple[str, ...] = (),
    category: str | None = None,
    blocks: int | None = None,
    conditions: str = "normalised",
    seed: int = 0,
    assignments: tuple[str, ...] = (),
) -> tuple[Run, Plan]:
    """Return the run that was asked for and its plan. Raises RequestError."""
    if suite_name is None:
        raise RequestError("no suite was named: paceline run quick, or paceline list suites")
    if blocks is not None and not 1 <= blocks <= MAX_BLOCKS:
        raise RequestError(f"--blocks {blocks} is not between 1 and {MAX_BLOCKS}")
    if conditions not in set(Policy):
        raise RequestError(f"unknown conditions {quoted(conditions)}: {nearest(conditions, list(Policy))}")
    suite = select(override(load_suite(suite_name), assignments), Filters(engines, workloads, category))
    facts.describe_own(suite)
    if blocks is not None:
        suite = suite.model_copy(update={"blocks": blocks, "minimum_blocks": min(blocks, suite.minimum_blocks)})
    machine, policy = inspect_machine(), Conditions(policy=Policy(conditions))
    plan = make_plan(suite, machine, policy, seed)
    run = Run(
        suite=suite,
        command=tuple(sys.argv),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine,
        versions=installed_versions(),
        conditions=policy,
        seed=seed,
        estimate_s=sum(estimate.trial_s(trial) for trial in plan.trials),
        plan=tuple(plan.trials),
        notes=tuple(plan.notes),
    )
    return run, plan


def resumed(directory: RunDirectory, suite_name: str | None) -> Run:
    """Return the run of a directory, to be gone on with. Raises RequestError when this is not what it was begun on."""
    run = directory.run()
    facts.describe_own(run.suite)
    if suite_name is not None and suite_name != run.suite.name:
        raise RequestError(
            f"{directory.path} holds suite {run.suite.name!r}, not {quoted(suite_name)}: leave the name out"
        )
    now = installed_versions()
    changed = [
        f"{k} {run.versions.get(k)} -> {now.get(k)}" for k in now | run.versions if run.versions.get(k) != now.get(k)
    ]
    if changed:
        raise RequestError(f"{directory.path} was begun with other versions ({', '.join(changed)}): start a new run")
    machine = inspect_machine()
    if (machine.cpu_model, machine.cpu_devices) != (run.machine.cpu_model, run.machine.cpu_devices):
        raise RequestError(f"{directory.path} was begun on another machine or core set: start a new run")
    return run


def refuse_unavailable(plan: Plan) -> None:
    """Raise RequestError when something in the plan is not installed."""
    if plan.unavailable:
        listed = "; ".join(f"{name}: {reason}" for name, reason in plan.unavailable.items())
        raise RequestError(f"{listed}. Or leave those out with --engines")


def default_directory(run: Run) -> Path:
    """Return a new name under ``runs/``."""
    return Path("runs") / f"{run.suite.name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def to_do(run: Run, directory: RunDirectory) -> list[tuple[Trial, float]]:
    """Return every trial that is still to be run, timed ones first, with its estimated seconds."""
    timed = [trial for trial in run.plan if not directory.trial(trial).finished]
    return [(trial, estimate.trial_s(trial)) for trial in (*timed, *proofs.to_do(run, directory))]


def estimated_minutes(suite_name: str, policy: Policy) -> float:
    """Return the estimated minutes of a whole built-in suite on this machine."""
    run, _ = requested(suite_name, conditions=policy)
    return run.estimate_s / 60
