"""The one place that knows what kind of device a rank trains on."""

from typing import Any

import torch

from paceline.spec.trial import Job
from paceline.strategies.contract import Membership


def device_of(job: Job, membership: Membership) -> torch.device:
    """Return the device of a rank: the CPU, or the accelerator at its local rank.

    Raises RuntimeError where an accelerator was planned and none is usable: never a silent CPU figure.
    """
    if job.cell.tier == "gpu":
        if not torch.cuda.is_available():
            raise RuntimeError("tier gpu was planned, and torch sees no CUDA device in this rank")
        device = torch.device("cuda", membership.local_rank)
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


def move(batch: Any, device: torch.device) -> Any:
    """Return a tuple of tensors on the device."""
    return tuple(tensor.to(device, non_blocking=True) for tensor in batch)
