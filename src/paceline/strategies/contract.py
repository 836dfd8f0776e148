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
    """This rank's place in its job."""

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
    """How the harness lines ranks up at the edges of a window."""

    def barrier(self) -> None:
        """Return when all ranks have called it."""


class Solo:
    """The group of a single rank."""

    def barrier(self) -> None:
        """Return at once."""


class StepClock(Protocol):
    """Marks the edges of steps where the work is done: on the host, or in a device's stream."""

    def mark(self) -> Any:
        """Return a mark of now; must cost next to nothing."""

    def read_ns(self, marks: list[Any]) -> NDArray[np.int64]:
        """Return the times of marks in ns, on one scale, once all work is done."""


class HostClock:
    """Where a call returns when its work is done, the host's clock is the step's clock."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.mark = clock

    def read_ns(self, marks: list[Any]) -> NDArray[np.int64]:
        """Return the marks, which are times already."""
        return np.array(marks, dtype=np.int64)


class StepOutcome(NamedTuple):
    """One optimiser step: this rank's mean loss over its samples, and whether the step was applied."""

    loss: Any
    applied: bool


class Strategy(ABC):
    """One rank's side of a way to train. The harness calls join, wrap, then step again and again, then close."""

    def __init__(self, job: Job, membership: Membership) -> None:
        self.job = job
        self.membership = membership

    @abstractmethod
    def join(self) -> Group:
        """Meet the other ranks and return the group."""

    @abstractmethod
    def wrap(self, workload: Workload) -> None:
        """Build the model (initial values included) and lay out the training state."""

    @abstractmethod
    def step(self, micro_batches: Iterator[Any]) -> StepOutcome:
        """Train on all micro-batches of one optimiser step. Only this divides by their number."""

    @abstractmethod
    def live(self) -> LiveSettings:
        """Return what is in force, read back from live objects after at least one step."""

    def move(self, batch: Any) -> Any:
        """Return the batch on this rank's device."""
        return batch

    def synchronise(self) -> None:
        """Return when the device has finished all submitted work."""

    def step_clock(self, clock: Callable[[], int]) -> StepClock:
        """Return what marks the edges of steps; ``clock`` is the host's, in ns."""
        return HostClock(clock)

    def device_memory(self) -> DeviceMemory | None:
        """Return the memory of this rank's device; None where that is the host's."""
        return None

    def full_parameters(self) -> Iterator[tuple[str, Any]]:
        """Yield every parameter whole, by its name in the workload's model, one at a time (collective)."""
        raise NotImplementedError(f"{type(self).__name__} does not give its full parameters")

    def training_state(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each trained parameter's name in the workload's model and its whole state, one by one (collective).

        ``weight`` is what the optimiser steps on (the fp32 master), the rest is the optimiser's own, ``step`` a number.
        """
        raise NotImplementedError(f"{type(self).__name__} does not give its training state")

    def before_update(self, tell: Callable[[list[Any]], None]) -> None:
        """From now on call ``tell`` with this rank's gradients as they enter the optimiser, before it steps."""
        raise NotImplementedError(f"{type(self).__name__} does not tell what enters its optimiser")

    def initial_weights_digest(self) -> str | None:
        """Return a digest of the full parameters right after ``wrap``, or None where there are none."""
        return None

    def evaluate(self, correct: Callable[[Any, Any], int], batch: Any) -> int:
        """Return ``correct(model, batch)`` with the model in evaluation mode."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the group and free what was taken."""


def load_strategy(job: Job, membership: Membership) -> Strategy:
    """Import and make the strategy of a job's engine. Called inside ranks only."""
    module, _, attribute = strategy_named(job.cell.engine.strategy).implementation.partition(":")
    strategy: Strategy = getattr(import_module(module), attribute)(job, membership)
    return strategy
