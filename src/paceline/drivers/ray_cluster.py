"""A Ray cluster for one trial on this machine, of explicit size. A cluster that runs already is never joined."""

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
    """Return the number of CPUs that the cluster is given, because Ray itself ignores affinity and some cgroup limits.

    Jobs on accelerators do not compete for CPUs, so they get all of the machine. On the CPU tier there is room for all
    ranks of one job even if it is oversubscribed: Ray would wait for ever otherwise.
    """
    return os.cpu_count() if plan.tier == "gpu" else max(plan.devices, plan.ranks * plan.cores_per_rank)
