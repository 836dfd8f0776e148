"""The contract of a strategy. Strategies never time anything: the harness owns the loop and the clock."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from paceline.schema.records import DeviceMemory, LiveSettings
from paceline.schema.trial import Job
from paceline.strategies.descriptor import strategy_named
from paceline.workloads.contract import Workload


@dataclass(frozen=True)
class Membership:
    """A rank's number in its job, and the state of its process."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    joined: bool = False
    """Whether the launcher has already initialised the process group."""
    reused_process: bool = False
    """Whether an earlier job ran in this process."""

    @classmethod
    def from_environment(cls) -> Membership:
        """Read the variables that torchrun and the deepspeed launcher set; one rank where they are absent."""
        env = os.environ
        return cls(int(env.get("RANK", 0)), int(env.get("WORLD_SIZE", 1)), int(env.get("LOCAL_RANK", 0)))


class Group(Protocol):
    """The ranks of a job, which the harness brings to the same point at the edges of a window."""

    def barrier(self) -> None:
        """Return when all ranks have called this method."""


class Solo:
    """The group of a single rank."""

    def barrier(self) -> None:
        """Return at once."""


class StepClock(Protocol):
    """Marks the edges of steps on the clock of the device that does the work: the host, or an accelerator's stream."""

    def mark(self) -> Any:
        """Return a mark of the present moment; called inside the window, so it must cost next to nothing."""

    def read_ns(self, marks: list[Any]) -> NDArray[np.int64]:
        """Wait for all work and return the times of the marks in ns, on one scale, shape (marks,)."""


class HostClock:
    """The host's clock, for devices on which a call returns when its work is done."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.mark = clock

    def read_ns(self, marks: list[Any]) -> NDArray[np.int64]:
        """Return the marks, which are times in ns already."""
        return np.array(marks, dtype=np.int64)


class StepOutcome(NamedTuple):
    """One optimiser step: this rank's mean loss over its samples, and whether the step was applied."""

    loss: Any
    applied: bool


class Strategy(ABC):
    """One rank's part of a way to train. The harness calls join, wrap, then step again and again, then close.

    ``TorchStrategy`` implements everything but ``wrap``, so that a complete strategy can be as short as this one::

        import torch.distributed as dist
        from paceline.strategies.blueprint import Blueprint
        from paceline.strategies.torch_strategy import TorchStrategy

        class AllReduce(TorchStrategy):
            def wrap(self, workload):
                self.take_state(Blueprint(workload, self.job).whole().to(self.device), workload)

            def backward(self, batch, *, last):
                share = super().backward(batch, last=last)
                for parameter in self.model.parameters() if last else ():
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= self.membership.world_size
                return share

    ``examples/own_engine`` registers it, under a launcher of its own.
    """

    def __init__(self, job: Job, membership: Membership) -> None:
        self.job = job
        self.membership = membership

    @abstractmethod
    def join(self) -> Group:
        """Meet the other ranks of the job and return the group."""

    @abstractmethod
    def wrap(self, workload: Workload) -> None:
        """Build the model (initial values included) and lay out the training state."""

    @abstractmethod
    def step(self, micro_batches: Iterator[Any]) -> StepOutcome:
        """Train on all micro-batches of one optimiser step. Only this method divides by their number."""

    @abstractmethod
    def live(self) -> LiveSettings:
        """Return the settings in force, read back from live objects after at least one step."""

    def move(self, batch: Any) -> Any:
        """Return the batch on this rank's device."""
        return batch

    def synchronise(self) -> None:
        """Return when the device has finished all submitted work."""

    def step_clock(self, clock: Callable[[], int]) -> StepClock:
        """Return the clock that marks the edges of steps; ``clock`` is the host's, in ns."""
        return HostClock(clock)

    def device_memory(self) -> DeviceMemory | None:
        """Return the memory of this rank's device; None where the rank trains on the host."""
        return None

    def full_parameters(self) -> Iterator[tuple[str, Any]]:
        """Yield every parameter whole, with its name in the workload's model, one at a time (collective).

        Raises NotImplementedError where a strategy cannot: then no proof can be made.
        """
        raise NotImplementedError(f"{type(self).__name__} does not give its full parameters")

    def training_state(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each trained parameter's name in the workload's model and its whole state, one by one (collective).

        ``weight`` is the tensor that the optimiser updates (the fp32 master, where there is one), ``step`` a number;
        all other items are the optimiser's own state. Raises NotImplementedError where a strategy cannot.
        """
        raise NotImplementedError(f"{type(self).__name__} does not give its training state")

    def before_update(self, receive: Callable[[list[Any]], None]) -> None:
        """From now on, call ``receive`` before every update with this rank's gradients as they enter the optimiser."""
        raise NotImplementedError(f"{type(self).__name__} does not show the gradients that enter its optimiser")

    def initial_weights_digest(self) -> str | None:
        """Return a digest of the full parameters right after ``wrap``, or None for a strategy without parameters."""
        return None

    def evaluate(self, correct: Callable[[Any, Any], int], batch: Any) -> int:
        """Return ``correct(model, batch)``, a number of samples, with the model in evaluation mode."""
        raise NotImplementedError

    def close(self) -> None:
        """Free the training state and leave the group."""


def load_strategy(job: Job, membership: Membership) -> Strategy:
    """Import and instantiate the strategy of a job's engine. Called inside ranks only."""
    module, _, attribute = strategy_named(job.cell.engine.strategy).implementation.partition(":")
    strategy: Strategy = getattr(import_module(module), attribute)(job, membership)
    return strategy
