"""A probe answers and leaves nothing behind, whatever it has started itself."""

from pathlib import Path

import pytest

from paceline.conductor.machine.probe import run_probe

LEAVES_A_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid)
print("a warning", file=sys.stderr)
"""
SLEEPS = "import time; time.sleep(600)"


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that has ended, but was not reaped yet, has no environment any more."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes() != b""
    except OSError:
        return False


def module(folder: Path, source: str) -> str:
    (folder / "asked.py").write_text(source)
    return "asked"


@pytest.mark.timeout(60)
def test_a_child_that_a_probe_leaves_behind_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    answer = run_probe(module(tmp_path, LEAVES_A_CHILD), (), 600, import_path=str(tmp_path))
    assert answer is not None
    assert (answer.returncode, answer.stderr) == (0, "a warning\n")
    assert not is_alive(int(answer.stdout))


@pytest.mark.timeout(60)
def test_a_probe_that_does_not_end_has_no_answer(tmp_path: Path) -> None:
    assert run_probe(module(tmp_path, SLEEPS), (), 0.5, import_path=str(tmp_path)) is None


def test_a_probe_gets_arguments_and_may_print_errors_among_its_output(tmp_path: Path) -> None:
    prints = "import sys; print(sys.argv[1:], file=sys.stderr); sys.exit(3)"
    answer = run_probe(module(tmp_path, prints), ("a", "b c"), 60, import_path=str(tmp_path), merge_errors=True)
    assert answer is not None
    assert (answer.returncode, answer.stdout, answer.stderr) == (3, "['a', 'b c']\n", "")


def test_a_probe_works_in_a_folder_of_its_own_unless_it_is_given_one(tmp_path: Path) -> None:
    name = module(tmp_path, "import os; print(os.getcwd())")
    for cwd in (None, tmp_path):
        answer = run_probe(name, (), 60, import_path=str(tmp_path), cwd=cwd)
        assert answer is not None
        assert (answer.stdout.strip() == str(tmp_path.resolve())) == (cwd is not None)
