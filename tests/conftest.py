"""Fixtures of all tests; what they build on is in ``support``."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline.conductor.machine.leftovers import shared_memory_names
from support.builders import fake_suite
from support.command_line import Cli
from support.machine import abandoned, trial_processes


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the fake engine, to be copied and damaged."""
    cli = Cli(tmp_path_factory.mktemp("recorded"))
    done = cli.suite(fake_suite("{step_s: 0.02}", steps=10))
    assert done.returncode == 0, done.stderr
    return cli.folder / "run"


@pytest.fixture
def run(recorded: Path, cli: Cli) -> Path:
    return Path(shutil.copytree(recorded, cli.folder / "run"))


@pytest.fixture
def nothing_is_left_behind(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process, temporary folder or shared memory of this test's runs remains; other runs on the machine may go on.

    What belongs to this test is told by the state folder and the TMPDIR that its command line hands down.
    """
    shared = shared_memory_names()
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as temporary:  # short: sockets lie below it
        monkeypatch.setenv("TMPDIR", temporary)
        yield
        assert trial_processes(cli.environment()["XDG_STATE_HOME"]) == []
        assert abandoned(shared_memory_names() - shared) == []
        assert list(Path(temporary).glob("pl-*")) == []
