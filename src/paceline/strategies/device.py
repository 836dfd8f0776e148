"""The one place that knows the kinds of device that a rank can train on."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from paceline.schema.records import DeviceMemory
from paceline.schema.trial import Job
from paceline.strategies.contract import HostClock, Membership, StepClock


def device_of(job: Job, membership: Membership) -> torch.device:
    """Return the device of a rank: the CPU, or the accelerator at its local rank.

    Raises RuntimeError where a GPU was planned and none is usable: a figure of the CPU must never pass for a GPU's.
    """
    if job.cell.tier == "gpu":
        if not torch.cuda.is_available():
            raise RuntimeError("tier gpu was planned, and torch sees no CUDA device in this rank")
        # Some launchers (Ray's tasks) let a rank see only its own device.
        index = 0 if torch.cuda.device_count() == 1 else membership.local_rank
        device = torch.device("cuda", index)
        torch.cuda.set_device(device)
        return device
    return torch.device("cpu")


def collective_backend(device: torch.device) -> str:
    """Return the backend of torch.distributed for ranks on this kind of device."""
    return "nccl" if device.type == "cuda" else "gloo"


def synchronise(device: torch.device) -> None:
    """Return when all work submitted to the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class EventClock:
    """CUDA events in the current stream, read after all work is done; the host's clock would time submissions only."""

    def __init__(self, device: torch.device, clock: Callable[[], int]) -> None:
        self._device = device
        self._origin = self.mark()
        synchronise(device)
        self._origin_ns = clock()

    def mark(self) -> torch.cuda.Event:
        """Record an event."""
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def read_ns(self, marks: list[torch.cuda.Event]) -> NDArray[np.int64]:
        """Return the times of the events in ns, on the scale of the host's clock.

        Gaps between neighbours are added up, because CUDA gives differences in single precision, and long ones would
        lose digits. The origin is off by the duration of one synchronise; differences are not.
        """
        synchronise(self._device)
        gaps_ms = [earlier.elapsed_time(later) for earlier, later in pairwise([self._origin, *marks])]
        return self._origin_ns + np.rint(np.cumsum(np.array(gaps_ms, dtype=np.float64)) * 1e6).astype(np.int64)


def step_clock(device: torch.device, clock: Callable[[], int]) -> StepClock:
    """Return the clock that marks the edges of steps on this kind of device."""
    return EventClock(device, clock) if device.type == "cuda" else HostClock(clock)


def memory(device: torch.device) -> DeviceMemory | None:
    """Return peaks of this process's allocator, and the device memory that all processes use; None on a CPU."""
    if device.type != "cuda":
        return None
    free, total = torch.cuda.mem_get_info(device)
    return DeviceMemory(
        peak_allocated_bytes=torch.cuda.max_memory_allocated(device),
        peak_reserved_bytes=torch.cuda.max_memory_reserved(device),
        used_bytes=total - free,
    )


def move(batch: Any, device: torch.device) -> Any:
    """Return a batch, a tuple of tensors, on the device."""
    return tuple(tensor.to(device, non_blocking=True) for tensor in batch)
