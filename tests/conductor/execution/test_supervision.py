"""Jobs that raise, hang, die or linger: the trial says so, the others go on, nothing is left behind."""

from pathlib import Path

import pytest

from support.builders import fake_suite
from support.command_line import Cli

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")


@pytest.mark.parametrize(
    ("settings", "status", "said"),
    [
        ("{raise_at_step: 2}", "failed", "RuntimeError: the fake engine raises"),
        ("{kill_at_step: 2}", "failed", "neither an error nor a normal end"),
        ("{hang_at_step: 2}", "timeout", "no end within 3 s"),
        ("{hang_at_step: 2, ignore_terminate: true}", "timeout", "no end within 3 s"),
        ("{loss: null}", "diverged", "loss nan at step 0"),
        ("{reported_world_size: 1}", "invalid", "world_size is 1, 2 was asked for"),
        ("{asynchronous: true, step_s: 0.1}", "invalid", "before the device has finished"),
    ],
)
def test_a_bad_trial_fails_with_its_cause_and_the_next_goes_on(cli: Cli, settings: str, status: str, said: str) -> None:
    done = cli.suite(fake_suite(settings, engines="[fake/fake@one, fake/fake@other]", more="timeout_s: 3"))
    assert done.returncode == 1
    bad, good = cli.document()["cells"]
    assert (bad["status"], good["status"]) == (status, "ok")
    assert said in bad["cause"]
    assert bad["trials"] == {"ok": 0, "failed": 1, "planned": 1, "excluded": 0}
    assert bad["metrics"]["samples_per_s"]["median"] is None
    assert said in done.stdout.replace("\n", " ") or said in " ".join(done.stdout.split())


def test_a_failed_job_shows_its_last_lines_and_its_log(cli: Cli) -> None:
    cli.suite(fake_suite("{raise_at_step: 1}"))
    cause = cli.document()["cells"][0]["cause"]
    log = Path(cause.rpartition("log: ")[2])
    assert "  | " in cause
    assert "the fake engine raises" in log.read_text()


def test_one_bad_job_costs_only_itself(cli: Cli) -> None:
    suite = fake_suite("{kill_at_step: 1}", engines="[fake/fake@one]").replace(
        "ranks: 2", "ranks: 1\n    load: {jobs: 5}"
    )
    done = cli.suite(suite)
    assert done.returncode == 1
    (cell,) = cli.document()["cells"]
    assert cell["status"] == "failed"
    assert "5 of 5 jobs did not finish" in cell["cause"]
    assert cell["metrics"]["makespan_s"]["median"] is None
    assert "infinite" in cell["metrics"]["makespan_s"]["reason"]


def test_a_port_lost_to_a_race_is_tried_once_more(cli: Cli) -> None:
    done = cli.suite(fake_suite("{lose_port_once: true}").replace("ranks: 2", "ranks: 1"))
    assert done.returncode == 0, done.stdout
    assert list((cli.folder / "run").glob("trials/*/jobs/0/attempt-1/rank-0.jsonl"))


def test_a_detached_grandchild_is_found_and_told(cli: Cli) -> None:
    done = cli.suite(fake_suite("{linger: true}"))
    assert done.returncode == 0
    assert "outlived its launcher" in " ".join(cli.document()["cells"][0]["flags"].values())
