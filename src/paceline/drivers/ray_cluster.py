"""A Ray cluster of our own on this machine: explicit size, never a stranger's, nothing left behind."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from paceline.schema.conditions import Policy
from paceline.schema.trial import LoadPlan


@contextmanager
def cluster(plan: LoadPlan) -> Iterator[None]:
    """Start a cluster with exactly the plan's devices, and stop it afterwards."""
    normalised = plan.conditions.policy is Policy.NORMALISED
    ray.init(
        address="local",
        num_cpus=cpus(plan),
        num_gpus=plan.devices if plan.tier == "gpu" else 0,
        object_store_memory=plan.conditions.object_store_bytes if normalised else None,
        include_dashboard=False,
        log_to_driver=True,
        _temp_dir=str(Path(plan.temp_dir) / "ray"),
    )
    try:
        yield
    finally:
        ray.shutdown()


def cpus(plan: LoadPlan) -> int | None:
    """Return how many CPUs the cluster has: said, because Ray ignores affinity and some cgroup limits.

    Next to accelerators CPUs are no resource that jobs compete for. An oversubscribed job must find room for all of its
    ranks, or Ray would wait for ever.
    """
    return os.cpu_count() if plan.tier == "gpu" else max(plan.devices, plan.ranks * plan.cores_per_rank)
