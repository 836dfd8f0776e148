"""What the conductor must know of a workload's model: a child process builds it once, for all engines."""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import paceline
from paceline import registry
from paceline.conductor.machine.leftovers import make_temp_dir, remove_temp_dir
from paceline.errors import RecordError, RequestError
from paceline.launchers.environment import base_environment, cache_dir
from paceline.schema.conditions import Conditions
from paceline.schema.model import Model
from paceline.schema.suite import Suite
from paceline.schema.trial import Trial
from paceline.store.files import read_model, write_model
from paceline.workloads import datasets
from paceline.workloads.descriptor import Tier, WorkloadDescriptor, WorkloadTier, is_custom, workload_named

PATIENCE_S = 300
_DEPENDED_ON = ("paceline", "torch", "transformers")


class WorkloadFacts(Model):
    """What ``paceline.probes.describe_workload`` prints."""

    data: str
    global_batch: int
    summary: str
    flops_per_sample_training: float | None
    flops_source: str


def described_workloads(suite: Suite) -> dict[str, WorkloadDescriptor]:
    """Return the descriptor of every workload of a suite, by name; a child process describes a ``module:Class``.

    Raises RequestError for an unknown name, and where a class is wrong, saying what is wrong with it.
    """
    names = dict.fromkeys(comparison.workload for comparison in suite.comparisons)
    return {
        name: _custom_descriptor(name, suite.import_path) if is_custom(name) else workload_named(name) for name in names
    }


def _custom_descriptor(name: str, import_path: str | None) -> WorkloadDescriptor:
    if reason := registry.unavailable(("torch",)):
        raise RequestError(f"workload {name!r} cannot be checked: {reason}")
    facts = _described(name, "cpu", "own", import_path)
    dataset = datasets.CUSTOM_REAL if facts.data == "real" else datasets.CUSTOM_SYNTHETIC
    tier = WorkloadTier((dataset,), facts.global_batch, facts.flops_per_sample_training or 0.0, facts.summary)
    return WorkloadDescriptor(name, name, {"cpu": tier, "gpu": tier}, ("torch",))


def with_counted_flops(
    trials: Sequence[Trial], import_path: str | None, tell: Callable[[str], None]
) -> tuple[Trial, ...]:
    """Return the trials with the FLOPs of their workloads, counted once each (docs/method.md, "FLOPs and utilisation").

    ``tell`` is called before anything that takes seconds. What cannot be counted is no reason not to train.
    """
    wanted = dict.fromkeys((trial.cell.workload, trial.cell.tier, trial.cell.dataset) for trial in trials)
    counted = {key: _flops(*key, import_path, tell) for key in wanted}
    complete = []
    for trial in trials:
        flops, source = counted[trial.cell.workload, trial.cell.tier, trial.cell.dataset]
        cell = trial.cell.model_copy(update={"flops_per_sample_training": flops, "flops_source": source})
        complete.append(trial.model_copy(update={"cell": cell}))
    return tuple(complete)


def _flops(
    name: str, tier: Tier, dataset: str, import_path: str | None, tell: Callable[[str], None]
) -> tuple[float | None, str]:
    # Only our own models are remembered: their sources and versions are known, so a figure is never that of another.
    cached = _cached_at(name, tier, dataset)
    try:
        if cached is not None and cached.exists():
            facts = read_model(cached, WorkloadFacts)
        else:
            tell(f"Counting the FLOPs of {name} ({tier} tier) once; all engines share the figure.")
            facts = _described(name, tier, dataset, import_path)
            if cached is not None:
                cached.parent.mkdir(parents=True, exist_ok=True)
                write_model(cached, facts)
    except (RequestError, RecordError, OSError) as error:
        return None, f"not counted: {error}"
    return facts.flops_per_sample_training, facts.flops_source


def _cached_at(name: str, tier: Tier, dataset: str) -> Path | None:
    """Return the file that remembers a built-in workload's facts, named by all that they depend on."""
    installed = installed_with(name)
    return None if installed is None else cache_dir() / "workloads" / f"{name}-{tier}-{dataset}-{installed}.json"


def installed_with(name: str) -> str | None:
    """Return a digest of the versions and sources that a built-in workload depends on; None for custom workloads."""
    if is_custom(name) or not workload_named(name).implementation.startswith("paceline."):
        return None
    digest = hashlib.blake2b(repr([_version(p) for p in _DEPENDED_ON]).encode(), digest_size=8)
    for package in ("workloads", "rank", "strategies"):
        for source in sorted((Path(paceline.__file__).parent / package).rglob("*.py")):
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
            [sys.executable, "-m", "paceline.probes.describe_workload", name, tier, dataset],
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
