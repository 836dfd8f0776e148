"""What is asked of Ray's cluster."""

import pytest

from paceline.schema.conditions import Conditions
from paceline.schema.trial import LoadPlan


@pytest.mark.parametrize(("ranks", "devices", "cpus"), [(1, 4, 4), (2, 2, 2), (4, 2, 4)])
def test_an_oversubscribed_job_finds_room_in_rays_cluster(ranks: int, devices: int, cpus: int) -> None:
    from paceline.drivers import ray_cluster

    plan = LoadPlan(
        jobs=(), ranks=ranks, cores_per_rank=1, devices=devices, tier="cpu", conditions=Conditions(), temp_dir="/tmp",
        events_file="-",
    )  # fmt: skip
    assert ray_cluster.cpus(plan) == cpus
