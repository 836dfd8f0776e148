"""Commands are pure functions: argv and environment, tested without starting anything."""

from dataclasses import replace
from pathlib import Path

import pytest

from paceline.launchers import contract
from paceline.launchers.contract import JobLauncher, LoadLauncher, Site
from paceline.schema.suite import Variant

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


@pytest.mark.parametrize(
    ("name", "scheduler"), [("ray-train", "Ray Train"), ("ray-core", "Ray's scheduler, worker processes reused")]
)
def test_ray_places_whole_loads(name: str, scheduler: str) -> None:
    launcher = contract.launcher_named(name)
    assert isinstance(launcher, LoadLauncher)
    assert launcher.command(Path("/run/plan.json"), SITE).argv[-1] == "/run/plan.json"
    assert launcher.placed_by(Variant()) == scheduler
