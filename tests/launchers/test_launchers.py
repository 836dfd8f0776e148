"""Commands are pure functions: argv and environment, tested without starting anything."""

from dataclasses import replace
from pathlib import Path

import pytest

from paceline.launchers import contract
from paceline.launchers.contract import JobLauncher, LoadLauncher, Site
from paceline.launchers.environment import accelerator_names, base_environment
from paceline.schema.conditions import Conditions, Policy
from paceline.schema.suite import Variant
from paceline.schema.trial import LoadPlan

SITE = Site(Path("/venv/bin"), "/venv/bin/python", Path("/tmp/pl-x"), {"A": "1"}, 41234)


def test_torchrun_is_called_as_people_call_it() -> None:
    launcher = contract.launcher_named("torchrun")
    assert isinstance(launcher, JobLauncher)
    command = launcher.command(Path("/run/job.json"), 2, SITE)
    assert command.argv == (
        "/venv/bin/torchrun", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2", "--module",
        "paceline.rank", "/run/job.json",
    )  # fmt: skip
    assert command.environment == {"A": "1"}


def test_deepspeed_names_its_port_its_size_and_no_hostfile() -> None:
    launcher = contract.launcher_named("deepspeed")
    assert isinstance(launcher, JobLauncher)
    argv = launcher.command(Path("/run/job.json"), 2, SITE).argv
    assert argv[0] == "/venv/bin/deepspeed"
    assert argv[argv.index("--master_port") + 1] == "41234"
    assert argv[argv.index("--num_accelerators") + 1] == "2"
    assert argv[argv.index("--hostfile") + 1].startswith("/tmp/pl-x/")


def test_deepspeed_is_told_which_accelerators_not_how_many() -> None:
    launcher = contract.launcher_named("deepspeed")
    assert isinstance(launcher, JobLauncher)
    argv = launcher.command(Path("/run/job.json"), 2, replace(SITE, accelerators=("2", "5"))).argv
    assert argv[argv.index("--include") + 1] == "localhost:2,5"
    assert "--num_accelerators" not in argv


@pytest.mark.parametrize(("visible", "names"), [(None, ("0", "1")), ("3,GPU-abc", ("3", "GPU-abc"))])
def test_accelerators_are_counted_among_the_visible_ones(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, names: tuple[str, ...]
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert accelerator_names((0, 1)) == names
    found = base_environment(Conditions(), "gpu", Path("/tmp/x"), {}, accelerators=names[1:])
    assert found["CUDA_VISIBLE_DEVICES"] == names[1]
    assert found["DS_ACCELERATOR"] == "cuda"


@pytest.mark.parametrize(
    ("name", "scheduler"), [("ray-train", "Ray Train"), ("ray-core", "Ray's scheduler, worker processes reused")]
)
def test_ray_places_whole_loads(name: str, scheduler: str) -> None:
    launcher = contract.launcher_named(name)
    assert isinstance(launcher, LoadLauncher)
    assert launcher.command(Path("/run/plan.json"), SITE).argv[-1] == "/run/plan.json"
    assert launcher.placed_by(Variant()) == scheduler


def test_a_rank_never_inherits_another_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "RANK",
        "WORLD_SIZE",
        "MASTER_PORT",
        "RAY_ADDRESS",
        "DS_ACCELERATOR",
        "OMP_NUM_THREADS",
        "KMP_AFFINITY",
    ):
        monkeypatch.setenv(name, "stale")
    found = base_environment(Conditions(), "cpu", Path("/tmp/x"), {"PACELINE_TRIAL": "abc"})
    assert "stale" not in found.values()
    assert found["OMP_NUM_THREADS"] == "1"
    assert found["DS_ACCELERATOR"] == "cpu"
    assert found["PACELINE_TRIAL"] == "abc"


def test_as_shipped_leaves_the_users_tuning_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    found = base_environment(Conditions(policy=Policy.AS_SHIPPED), "cpu", Path("/tmp/x"), {})
    assert found["OMP_NUM_THREADS"] == "7"
    assert "MALLOC_TOP_PAD_" not in found


def test_glibc_takes_the_allocator_settings() -> None:
    """glibc ignores a mmap threshold above half of its 64 MiB heaps without a word."""
    assert Conditions().malloc_mmap_threshold_bytes <= 32 * 1024**2


@pytest.mark.parametrize(("ranks", "devices", "cpus"), [(1, 4, 4), (2, 2, 2), (4, 2, 4)])
def test_an_oversubscribed_job_finds_room_in_rays_cluster(ranks: int, devices: int, cpus: int) -> None:
    from paceline.drivers import ray_cluster

    plan = LoadPlan(
        jobs=(), ranks=ranks, cores_per_rank=1, devices=devices, tier="cpu", conditions=Conditions(), temp_dir="/tmp",
        events_file="-",
    )  # fmt: skip
    assert ray_cluster.cpus(plan) == cpus
