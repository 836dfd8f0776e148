"""The one place that knows what kind of device a rank trains on."""

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

    Raises RuntimeError where an accelerator was planned and none is usable: never a silent CPU figure.
    """
    if job.cell.tier == "gpu":
        if not torch.cuda.is_available():
            raise RuntimeError("tier gpu was planned, and torch sees no CUDA device in this rank")
        # Some launchers (Ray's tasks) show every rank nothing but its own device.
        index = 0 if torch.cuda.device_count() == 1 else membership.local_rank
        device = torch.device("cuda", index)
        torch.cuda.set_device(device)
        return device
    return torch.device("cpu")


def collective_backend(device: torch.device) -> str:
    """Return the backend that ranks on this kind of device use."""
    return "nccl" if device.type == "cuda" else "gloo"


def synchronise(device: torch.device) -> None:
    """Return when all work submitted to the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class EventClock:
    """CUDA events in the current stream, read once everything is done: host time would only see submissions."""

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
        """Return times on the host's scale, added up from neighbour to neighbour: CUDA gives them in single precision.

        The origin is off by the duration of one synchronise; differences are not.
        """
        synchronise(self._device)
        gaps_ms = [earlier.elapsed_time(later) for earlier, later in pairwise([self._origin, *marks])]
        return self._origin_ns + np.rint(np.cumsum(np.array(gaps_ms, dtype=np.float64)) * 1e6).astype(np.int64)


def step_clock(device: torch.device, clock: Callable[[], int]) -> StepClock:
    """Return what marks the edges of steps on this kind of device."""
    return EventClock(device, clock) if device.type == "cuda" else HostClock(clock)


def memory(device: torch.device) -> DeviceMemory | None:
    """Return peaks of this process's allocator and what all processes use of the device; None on a CPU."""
    if device.type != "cuda":
        return None
    free, total = torch.cuda.mem_get_info(device)
    return DeviceMemory(
        peak_allocated_bytes=torch.cuda.max_memory_allocated(device),
        peak_reserved_bytes=torch.cuda.max_memory_reserved(device),
        used_bytes=total - free,
    )


def move(batch: Any, device: torch.device) -> Any:
    """Return a tuple of tensors on the device."""
    return tuple(tensor.to(device, non_blocking=True) for tensor in batch)
