"""What the conductor must know of a workload's model: a child process builds it once, for all engines."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import paceline
from paceline.bench.litter import make_temp_dir, remove_temp_dir
from paceline.launchers.environment import base_environment, cache_dir
from paceline.spec import registry
from paceline.spec.conditions import Conditions
from paceline.spec.errors import RecordError, RequestError
from paceline.spec.model import Model
from paceline.spec.run import Run
from paceline.spec.suite import Suite
from paceline.store.files import read_model, write_model
from paceline.workloads import datasets, descriptor
from paceline.workloads.descriptor import Tier, WorkloadDescriptor, WorkloadTier

PATIENCE_S = 300
_DEPENDED_ON = ("paceline", "torch", "transformers")


class WorkloadFacts(Model):
    """What ``paceline.drivers.describe_workload`` prints."""

    data: str
    global_batch: int
    summary: str
    flops_per_sample_training: float | None
    flops_source: str


def describe_own(suite: Suite) -> None:
    """Make every ``module:Class`` of a suite known. Raises RequestError that says what is wrong with a class."""
    for name in dict.fromkeys(c.workload for c in suite.comparisons):
        if descriptor.is_own(name):
            descriptor.remember(_own_descriptor(name, suite.import_path))


def _own_descriptor(name: str, import_path: str | None) -> WorkloadDescriptor:
    if reason := registry.unavailable(("torch",)):
        raise RequestError(f"workload {name!r} cannot be checked: {reason}")
    facts = _described(name, "cpu", "own", import_path)
    dataset = datasets.OWN_REAL if facts.data == "real" else datasets.OWN_SYNTHETIC
    tier = WorkloadTier((dataset,), facts.global_batch, facts.flops_per_sample_training or 0.0, facts.summary)
    return WorkloadDescriptor(name, name, {"cpu": tier, "gpu": tier}, ("torch",))


def counted(run: Run, tell: Callable[[str], None]) -> Run:
    """Return the run with the FLOPs of each workload in its plan (METHOD §10: counted once, on a plain copy).

    ``tell`` is called before anything that takes seconds. What cannot be counted is no reason not to train.
    """
    wanted = dict.fromkeys((trial.cell.workload, trial.cell.tier, trial.cell.dataset) for trial in run.plan)
    found = {key: _flops(*key, run.suite.import_path, tell) for key in wanted}
    plan = []
    for trial in run.plan:
        flops, source = found[trial.cell.workload, trial.cell.tier, trial.cell.dataset]
        cell = trial.cell.model_copy(update={"flops_per_sample_training": flops, "flops_source": source})
        plan.append(trial.model_copy(update={"cell": cell}))
    return run.model_copy(update={"plan": tuple(plan)})


def _flops(
    name: str, tier: Tier, dataset: str, import_path: str | None, tell: Callable[[str], None]
) -> tuple[float | None, str]:
    # Only our own models are remembered: their sources and versions are known, so a figure is never that of another.
    kept = _kept_at(name, tier, dataset)
    try:
        if kept is not None and kept.exists():
            facts = read_model(kept, WorkloadFacts)
        else:
            tell(f"Counting the FLOPs of {name} ({tier} tier) once; all engines share the figure.")
            facts = _described(name, tier, dataset, import_path)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                write_model(kept, facts)
    except (RequestError, RecordError, OSError) as error:
        return None, f"not counted: {error}"
    return facts.flops_per_sample_training, facts.flops_source


def _kept_at(name: str, tier: Tier, dataset: str) -> Path | None:
    """Return the file that remembers a built-in workload's facts, named by all that they depend on."""
    installed = installed_with(name)
    return None if installed is None else cache_dir() / "workloads" / f"{name}-{tier}-{dataset}-{installed}.json"


def installed_with(name: str) -> str | None:
    """Return a digest of versions and sources that a built-in workload depends on; None for anybody else's."""
    if descriptor.is_own(name) or not descriptor.get(name).implementation.startswith("paceline."):
        return None
    digest = hashlib.blake2b(repr([_version(p) for p in _DEPENDED_ON]).encode(), digest_size=8)
    for package in ("workloads", "rank", "strategies"):
        for source in sorted((Path(paceline.__file__).parent / package).glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


@cache
def _described(name: str, tier: Tier, dataset: str, import_path: str | None) -> WorkloadFacts:
    temp_dir = make_temp_dir()
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "paceline.drivers.describe_workload", name, tier, dataset],
            # On the CPU whatever the tier: nothing is computed, and accelerators stay free.
            env=base_environment(Conditions(), "cpu", temp_dir, {}, import_path),
            cwd=Path.cwd(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RequestError(
            f"workload {name!r}: building, one batch and one loss took longer than {PATIENCE_S} s"
        ) from None
    finally:
        remove_temp_dir(temp_dir)
    if answer.returncode != 0:
        last = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise RequestError(f"workload {name!r}: {last}")
    return WorkloadFacts.model_validate_json(answer.stdout.splitlines()[-1])
