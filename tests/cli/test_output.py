"""What a new user sees on a narrow terminal or in a log: lines that fit, words and paths that stay whole."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from paceline.analysis.same_work.timed_trials import NO_WORK
from paceline.analysis.whole_run.view import RunView
from paceline.cli.doctor import found
from paceline.cli.listing import listed
from paceline.cli.run import ending
from paceline.conductor.execution.campaign import Outcome, Stop
from paceline.conductor.machine.doctor import Check
from paceline.conductor.planning import catalogue
from paceline.conductor.planning.request import Request, new_run, planned
from paceline.report.tables import meaning
from paceline.schema.proof import WorkOutcome

PATH = Path("runs") / ("long-" * 12 + "20261201-020257")


def widest(lines: Iterable[str]) -> int:
    return max(map(len, lines))


@pytest.mark.parametrize("stop", Stop)
def test_the_last_lines_of_a_run_fit_and_keep_paths_whole(stop: Stop) -> None:
    outcome = Outcome(stop=stop, whole_blocks=1, wall_s=516)
    lines = ending(PATH, outcome, 588, 72.4)
    assert widest(line for line in lines if str(PATH) not in line) <= 100
    assert all(line.count(str(PATH)) <= 1 for line in lines)
    commands = [line.strip().rpartition(":  ")[2].strip() for line in lines if line.startswith("  ")]
    assert [c.split()[1] for c in commands if c.endswith(str(PATH))][-2:] == ["show", "verify"]
    assert any("--resume" in command for command in commands) is (stop is not Stop.DONE)
    assert "Took 8.6 min; the estimate was 9.8 min." in lines
    assert lines[-1].endswith("run standard   (about 72 min)")


def printed(renderable: Any, width: int) -> list[str]:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_what_the_tables_mean_fits_100_columns(width: int) -> None:
    work = {
        "a": NO_WORK.model_copy(update={"outcome": WorkOutcome.EQUAL, "steps": 12}),
        "b": NO_WORK.model_copy(update={"cause": "word " * 60}),
    }
    run = new_run(planned(Request("selftest")), print)
    view = RunView(run=run, comparisons=[], results={}, work=work)
    lines = printed(meaning(view), width)
    assert any(line.startswith("No ranking: 1 block.") for line in lines)
    assert widest(lines) <= min(width, 100)


def test_doctor_says_each_thing_on_one_line_with_its_fix_below() -> None:
    checks = [
        Check(name="torch", status="ok", found="2.13.0"),
        Check(name="cache folder", status="fail", found="/no/" * 40, fix="set XDG_CACHE_HOME to a writable folder"),
        Check(name="gloo", status="ok", found=""),
    ]
    assert list(found(checks)) == [
        "ok    torch         2.13.0",
        f"fail  cache folder  {'/no/' * 40}",
        "      fix: set XDG_CACHE_HOME to a writable folder",
        "ok    gloo",
    ]


@pytest.mark.parametrize("things", ["suites", "workloads", "engines", "metrics"])
@pytest.mark.parametrize("width", [80, 100])
def test_lists_are_wrapped_by_words_and_have_no_trailing_blanks(things: str, width: int) -> None:
    rows = getattr(catalogue, things)()
    lines = list(listed(rows, width))
    assert lines[0].split()[:2] == ["name", "available"]
    assert widest(lines) <= width
    assert all(line == line.rstrip() for line in lines)
    told = [f"{row['name']} {'yes' if row['available'] else 'no'} {row['reason'] or row['about']}" for row in rows]
    assert " ".join(lines).partition(" about ")[2].split() == " ".join(told).split()


def test_a_list_survives_a_narrow_terminal() -> None:
    rows = [{"name": "n" * 30, "available": False, "reason": "a-word-of-twenty-one and another", "about": "-"}]
    assert list(listed(rows, 40)) == [
        "name                            available",
        "    about",
        f"{'n' * 30}  no",
        "    a-word-of-twenty-one and another",
    ]
