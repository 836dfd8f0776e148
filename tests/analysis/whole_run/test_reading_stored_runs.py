"""A stored run can be read by anybody: nothing that it names needs to be installed where it is read.

``recorded-run.tar.xz`` is a real run: a custom class (``spirals:Spirals``) on two launchers, eight blocks, an undecided
pair, proofs of same work. Every command reads it in a new process, in a folder where the class cannot be imported.
"""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[2] / "data" / "recorded-run.tar.xz"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    with tarfile.open(RECORDED) as archive:
        archive.extractall(tmp_path / "run", filter="data")
    return tmp_path / "run"


def paceline(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "paceline.cli.main", *arguments]
    return subprocess.run(argv, cwd=folder, text=True, capture_output=True, timeout=120, env=os.environ)


def rename(run: Path, old: str, new: str) -> None:
    """Write the run as if it had been made with a thing of another name."""
    for path in sorted(run.rglob("*"), key=lambda path: -len(path.parts)):
        if path.suffix in (".json", ".jsonl"):
            path.write_text(path.read_text().replace(old, new))
        if old in path.name:
            path.rename(path.with_name(path.name.replace(old, new)))


def test_an_undecided_pair_of_a_custom_class_says_what_would_decide_it(recorded: Path) -> None:
    shown = paceline(recorded.parent, "show", "run")
    assert shown.returncode == 0, shown.stderr
    assert "inconclusive" in shown.stdout
    assert "about 24 more blocks" in shown.stdout
    document = json.loads(paceline(recorded.parent, "show", "run", "--json").stdout)
    (verdict,) = document["verdicts"]
    assert (verdict["verdict"], verdict["blocks"], verdict["blocks_won"]) == ("inconclusive", 8, 6)
    assert {cell["same_work"]["outcome"] for cell in document["cells"]} == {"equal"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "run"),
        ("show", "run", "--proof", "WORKLOAD"),
        ("verify", "run"),
        ("choose", "run", "--for", "moderate-complexity"),
        ("compare", "run", "run"),
    ],
)
@pytest.mark.parametrize(
    ("old", "new"),
    [("spirals:Spirals", "spirals:Spirals"), ("spirals:Spirals", "from-a-plug-in"), ("torchrun", "from-a-plug-in")],
    ids=["custom class", "absent workload plug-in", "absent launcher plug-in"],
)
def test_every_reading_command_does_without_what_the_run_was_made_with(
    recorded: Path, arguments: tuple[str, ...], old: str, new: str
) -> None:
    rename(recorded, old, new)
    rename(recorded, old.replace(":", "."), new.replace(":", "."))
    workload = new if old == "spirals:Spirals" else "spirals:Spirals"
    read = paceline(recorded.parent, *(workload if a == "WORKLOAD" else a for a in arguments))
    assert read.returncode == 0, read.stdout + read.stderr


def test_reading_derives_the_same_verdict_twice(recorded: Path) -> None:
    first, second = (paceline(recorded.parent, "show", "run", "--json").stdout for _ in range(2))
    assert first == second
