"""What the conductor knows of a workload without importing it."""

from dataclasses import dataclass
from typing import Literal

from paceline import registry

Tier = Literal["cpu", "gpu"]


@dataclass(frozen=True)
class WorkloadTier:
    """One size of a workload: ``cpu`` fits two cores, ``gpu`` is the paper's size."""

    datasets: tuple[str, ...]
    """Names, preferred first; the first that is on the machine is taken."""
    global_batch: int
    flops_per_sample_training: float
    """Rough, for estimates of time before anything ran; what is reported is counted on the model itself."""
    summary: str


@dataclass(frozen=True)
class WorkloadDescriptor:
    """A workload's name, sizes and where its implementation is (``module:Class``), loaded only inside ranks."""

    name: str
    implementation: str
    tiers: dict[Tier, WorkloadTier]
    modules: tuple[str, ...]
    """Top-level modules that the implementation needs."""
    selftest_only: bool = False


def is_custom(name: str) -> bool:
    """Return whether a workload is named by its class, ``module:Class``, instead of registered."""
    return ":" in name


def workload_named(name: str) -> WorkloadDescriptor:
    """Return the descriptor registered under a name. Raises RequestError, offering the nearest names."""
    found: WorkloadDescriptor = registry.load("workloads", name)
    return found
