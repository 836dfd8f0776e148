"""Child processes, their logs and their marker."""

import os
import subprocess
from pathlib import Path

import pytest

from paceline.conductor.machine.processes import LOG_HEAD_BYTES, LOG_TAIL_BYTES, Child, processes_with
from paceline.launchers.contract import Command
from support.waiting import until

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")


def test_logs_keep_their_beginning_and_their_end(tmp_path: Path) -> None:
    size = LOG_HEAD_BYTES + LOG_TAIL_BYTES
    script = f"print('begin'); print('x' * {3 * size}); print('end')"
    command = Command(("python3", "-c", script), dict(os.environ))
    child = Child.start(command, "PACELINE_TRIAL=none", tmp_path / "log", tmp_path)
    assert child.finish() == 0
    text = (tmp_path / "log").read_text()
    assert text.startswith("begin")
    assert text.rstrip().endswith("end")
    assert "bytes left out" in text
    assert len(text) < size + 200_000


def test_only_marked_processes_are_ours() -> None:
    with subprocess.Popen(["sleep", "60"], env={"PACELINE_TRIAL": "mine", "PATH": os.environ["PATH"]}) as child:
        try:
            until(lambda: processes_with("PACELINE_TRIAL=mine") == [child.pid])
            assert processes_with("PACELINE_TRIAL=min") == []
        finally:
            child.kill()
