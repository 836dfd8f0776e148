"""What the conductor knows of a workload without importing it."""

from dataclasses import dataclass
from typing import Literal

from paceline.spec import registry
from paceline.spec.errors import RequestError

Tier = Literal["cpu", "gpu"]


@dataclass(frozen=True)
class WorkloadTier:
    """One size of a workload: ``cpu`` fits two cores, ``gpu`` is the paper's size."""

    datasets: tuple[str, ...]
    """Names, preferred first; the first that is on the machine is taken."""
    global_batch: int
    flops_per_sample_training: float
    """Rough, for estimates of time before anything ran; what is reported is counted in the rank."""
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


_OWN: dict[str, WorkloadDescriptor] = {}


def remember(descriptor: WorkloadDescriptor) -> None:
    """Make a user's own class known under its ``module:Class``, once a child process has described it."""
    _OWN[descriptor.name] = descriptor


def is_own(name: str) -> bool:
    """Return whether a workload is named by its class, ``module:Class``, instead of registered."""
    return ":" in name


def get(name: str) -> WorkloadDescriptor:
    """Return the descriptor of a registered name or a remembered class. Raises RequestError, offering nearest names."""
    if is_own(name):
        if name not in _OWN:
            raise RequestError(f"workload {name!r} has not been described yet")
        return _OWN[name]
    found: WorkloadDescriptor = registry.load("workloads", name)
    return found
