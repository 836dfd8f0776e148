"""Descriptions of workloads that the conductor can read without importing a framework."""

from dataclasses import dataclass
from typing import Literal

from paceline import registry

Tier = Literal["cpu", "gpu"]


@dataclass(frozen=True)
class WorkloadTier:
    """One size of a workload: ``cpu`` fits two cores, ``gpu`` is the paper's size."""

    datasets: tuple[str, ...]
    """Names of data sets, the preferred one first; the first that is on the machine is used."""
    global_batch: int
    flops_per_sample_training: float
    """Rough number for estimates of time before a run; reported figures use FLOPs counted on the model itself."""
    summary: str


@dataclass(frozen=True)
class WorkloadDescriptor:
    """A workload's name, its sizes and its implementation (``module:Class``), which only ranks and probes import."""

    name: str
    implementation: str
    tiers: dict[Tier, WorkloadTier]
    modules: tuple[str, ...]
    """Top-level Python modules that the implementation needs."""
    selftest_only: bool = False


def is_custom(name: str) -> bool:
    """Return whether a name is that of a class, ``module:Class``, instead of a registered workload."""
    return ":" in name


def workload_named(name: str) -> WorkloadDescriptor:
    """Return the descriptor registered under a name. Raises RequestError, offering the nearest names."""
    descriptor: WorkloadDescriptor = registry.load("workloads", name)
    return descriptor
