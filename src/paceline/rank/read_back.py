"""Set the ``normalised`` conditions inside a rank, and read back the conditions that are really in force."""

import os
import sys
from pathlib import Path
from typing import Any

from paceline.rank.lease import process_cores
from paceline.schema.conditions import REPORTED_VARIABLES, Conditions, Policy


def apply(conditions: Conditions) -> None:
    """Set torch's threads and precision, if the strategy has imported torch; the environment also sets threads."""
    if conditions.policy is Policy.AS_SHIPPED or "torch" not in sys.modules:
        return
    import torch

    torch.set_num_threads(conditions.threads_per_rank)
    if torch.get_num_interop_threads() != conditions.threads_per_rank:
        torch.set_num_interop_threads(conditions.threads_per_rank)
    torch.set_float32_matmul_precision(conditions.matmul_precision)


def read_back(conditions: Conditions, backend: str | None, device_type: str) -> dict[str, Any]:
    """Return the items of ``HARD_CONDITIONS`` and ``SOFT_CONDITIONS``, read from live state, never from the request."""
    environment = initial_environment()
    items: dict[str, Any] = {
        "environment": {name: environment.get(name) for name in sorted(Conditions().environment())},
        "other_environment": {
            name: value
            for name, value in sorted(environment.items())
            if name.startswith(REPORTED_VARIABLES) and name not in Conditions().environment()
        },
        "cores": sorted(process_cores()),
        "cores_per_rank": len(process_cores()),
        "policy": conditions.policy,
        "backend": backend,
        "device_type": device_type,
        "python": sys.version.split()[0],
        "process_threads": len(os.listdir("/proc/self/task")),  # noqa: PTH208 - a plain count
    }
    if "torch" in sys.modules:
        import torch

        items |= {
            "torch_version": torch.__version__,
            "intraop_threads": torch.get_num_threads(),
            "interop_threads": torch.get_num_interop_threads(),
            "matmul_precision": torch.get_float32_matmul_precision(),
            "mkldnn": bool(torch.backends.mkldnn.enabled),
            "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
            "default_dtype": str(torch.get_default_dtype()),
        }
    return items


def initial_environment() -> dict[str, str]:
    """Return the environment that this process was started with, because the allocator and OpenMP read that one."""
    raw = Path("/proc/self/environ").read_bytes().decode(errors="replace")
    return dict(entry.split("=", 1) for entry in raw.split("\0") if "=" in entry)
