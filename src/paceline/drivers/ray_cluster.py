"""A Ray cluster of our own on this machine: explicit size, never a stranger's, nothing left behind."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from paceline.spec.conditions import Policy
from paceline.spec.trial import LoadPlan


@contextmanager
def cluster(plan: LoadPlan) -> Iterator[None]:
    """Start a cluster with exactly the plan's devices, and stop it afterwards.

    The number of CPUs is said, because Ray ignores affinity and some cgroup limits. Next to accelerators CPUs are no
    resource that jobs compete for.
    """
    on_cpu = plan.tier == "cpu"
    normalised = plan.conditions.policy is Policy.NORMALISED
    ray.init(
        address="local",
        num_cpus=plan.devices if on_cpu else os.cpu_count(),
        num_gpus=0 if on_cpu else plan.devices,
        object_store_memory=plan.conditions.object_store_bytes if normalised else None,
        include_dashboard=False,
        log_to_driver=True,
        _temp_dir=str(Path(plan.temp_dir) / "ray"),
    )
    try:
        yield
    finally:
        ray.shutdown()
