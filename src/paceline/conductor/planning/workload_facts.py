"""Facts about a workload's model, such as its FLOPs: a probe builds the model once, for all engines."""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import paceline
from paceline import registry
from paceline.conductor.machine.probe import run_probe
from paceline.errors import RecordError, RequestError
from paceline.launchers.environment import cache_dir
from paceline.registry import installed_version
from paceline.schema.model import Model
from paceline.schema.suite import Suite
from paceline.schema.trial import Trial
from paceline.store.files import read_model, write_model
from paceline.workloads import datasets
from paceline.workloads.descriptor import Tier, WorkloadDescriptor, WorkloadTier, is_custom, workload_named

PATIENCE_S = 300
"""Longest time that building a model, one batch and one backward pass may take."""
_PACKAGES = ("paceline", "torch", "transformers")
"""Packages whose versions change what a built-in workload computes."""
_SOURCES = ("workloads", "rank", "strategies")
"""Folders of Paceline whose sources change what a built-in workload computes."""


class WorkloadFacts(Model):
    """What ``paceline.probes.describe_workload`` prints."""

    data: str
    global_batch: int
    summary: str
    flops_per_sample_training: float | None
    flops_source: str


def described_workloads(suite: Suite) -> dict[str, WorkloadDescriptor]:
    """Return the descriptor of every workload of a suite, by name; a probe describes a custom ``module:Class``.

    Raises RequestError for an unknown name, and for a custom class that cannot be trained, with what is wrong with it.
    """
    names = dict.fromkeys(comparison.workload for comparison in suite.comparisons)
    return {
        name: _custom_descriptor(name, suite.import_path) if is_custom(name) else workload_named(name) for name in names
    }


def _custom_descriptor(name: str, import_path: str | None) -> WorkloadDescriptor:
    if reason := registry.unavailable(("torch",)):
        raise RequestError(f"workload {name!r} cannot be checked: {reason}")
    facts = _probed_facts(name, "cpu", "own", import_path)
    dataset = datasets.CUSTOM_REAL if facts.data == "real" else datasets.CUSTOM_SYNTHETIC
    tier = WorkloadTier((dataset,), facts.global_batch, facts.flops_per_sample_training or 0.0, facts.summary)
    return WorkloadDescriptor(name, name, {"cpu": tier, "gpu": tier}, ("torch",))


def with_counted_flops(
    trials: Sequence[Trial], import_path: str | None, tell: Callable[[str], None]
) -> tuple[Trial, ...]:
    """Return the trials with the FLOPs of their workloads, counted once each (docs/method.md, "FLOPs and utilisation").

    ``tell`` is called with a line of text before anything that takes seconds. A workload whose FLOPs cannot be counted
    is trained all the same: its figure is None, with the reason.
    """
    models = dict.fromkeys((trial.cell.workload, trial.cell.tier, trial.cell.dataset) for trial in trials)
    counted = {model: _flops(*model, import_path, tell) for model in models}
    complete = []
    for trial in trials:
        flops, source = counted[trial.cell.workload, trial.cell.tier, trial.cell.dataset]
        cell = trial.cell.model_copy(update={"flops_per_sample_training": flops, "flops_source": source})
        complete.append(trial.model_copy(update={"cell": cell}))
    return tuple(complete)


def _flops(
    name: str, tier: Tier, dataset: str, import_path: str | None, tell: Callable[[str], None]
) -> tuple[float | None, str]:
    """Return FLOPs of training on one sample, or None, and where the figure comes from or why there is none."""
    cached_path = _cached_path(name, tier, dataset)
    try:
        if cached_path is not None and cached_path.exists():
            facts = read_model(cached_path, WorkloadFacts)
        else:
            tell(f"Counting the FLOPs of {name} ({tier} tier) once; all engines share the figure.")
            facts = _probed_facts(name, tier, dataset, import_path)
            if cached_path is not None:
                cached_path.parent.mkdir(parents=True, exist_ok=True)
                write_model(cached_path, facts)
    except (RequestError, RecordError, OSError) as error:
        return None, f"not counted: {error}"
    return facts.flops_per_sample_training, facts.flops_source


def _cached_path(name: str, tier: Tier, dataset: str) -> Path | None:
    """Return the file for a built-in workload's facts, named by all that they depend on; None for custom workloads."""
    digest = sources_digest(name)
    return None if digest is None else cache_dir() / "workloads" / f"{name}-{tier}-{dataset}-{digest}.json"


def sources_digest(name: str) -> str | None:
    """Return a digest of the versions and sources that a built-in workload depends on; None for custom workloads.

    A custom workload may import anything, so nothing about it is cached.
    """
    if is_custom(name) or not workload_named(name).implementation.startswith("paceline."):
        return None
    digest = hashlib.blake2b(repr([installed_version(p) or "none" for p in _PACKAGES]).encode(), digest_size=8)
    for folder in _SOURCES:
        for source in sorted((Path(paceline.__file__).parent / folder).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


@cache
def _probed_facts(name: str, tier: Tier, dataset: str, import_path: str | None) -> WorkloadFacts:
    """Return what a probe says about a workload. Raises RequestError with the reason when it cannot be trained.

    The probe computes nothing large and leaves accelerators free, so it runs on the CPU whatever the tier is.
    """
    module = "paceline.probes.describe_workload"
    answer = run_probe(module, (name, tier, dataset), PATIENCE_S, import_path, cwd=Path.cwd())
    if answer is None:
        raise RequestError(f"workload {name!r}: building, one batch and one loss took longer than {PATIENCE_S} s")
    if answer.returncode != 0:
        reason = (answer.stderr.strip().splitlines() or ["the process that builds it ended without a message"])[-1]
        raise RequestError(f"workload {name!r}: {reason}")
    return WorkloadFacts.model_validate_json(answer.stdout.splitlines()[-1])
