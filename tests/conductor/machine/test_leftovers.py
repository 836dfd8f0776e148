"""What frameworks leave behind is removed, and only that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paceline.conductor.machine.leftovers import remove_build_locks
from support.builders import fake_suite
from support.command_line import Cli
from support.waiting import until

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")


def test_a_strangers_shared_memory_stays(cli: Cli) -> None:
    theirs = Path("/dev/shm") / f"dataset-{os.getpid()}"
    suite = cli.folder / "suite.yaml"
    suite.write_text(fake_suite("{step_s: 0.3}"))
    try:
        with subprocess.Popen(
            cli.argv("run", suite, "--out", cli.folder / "run"), env=cli.environment(), stdout=subprocess.DEVNULL
        ) as run:
            until(lambda: bool(list((cli.folder / "run").glob("trials/*/jobs/0/rank-*.jsonl"))))
            theirs.write_text("appeared during a trial")
            assert run.wait(timeout=60) == 0
        assert theirs.exists()
    finally:
        theirs.unlink()


def test_a_killed_builders_lock_is_removed_unless_somebody_may_be_building(tmp_path: Path) -> None:
    lock = tmp_path / "deepspeed_shm_comm" / "lock"
    lock.parent.mkdir()
    lock.touch()
    builds = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"TORCH_EXTENSIONS_DIR": str(tmp_path)}
    )
    try:
        remove_build_locks(tmp_path)
        assert lock.exists()
    finally:
        builds.communicate(b"\n")
    remove_build_locks(tmp_path)
    assert not lock.exists(), "torch would wait for it for ever"
