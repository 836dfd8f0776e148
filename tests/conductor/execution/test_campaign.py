"""Runs that are interrupted, gone on with, or kept apart."""

import json
import signal
import subprocess

import pytest

from support.builders import fake_suite
from support.command_line import Cli
from support.machine import trial_processes
from support.waiting import until

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")


def test_interrupt_keeps_what_finished_and_resume_goes_on(cli: Cli) -> None:
    suite = cli.folder / "suite.yaml"
    suite.write_text(
        fake_suite("{step_s: 0.01}", engines="[fake/fake@one, fake/fake@other]").replace(
            "other: {settings: {step_s: 0.01}}", "other: {settings: {step_s: 600}}"
        )
    )
    run = cli.folder / "run"
    with subprocess.Popen(
        cli.argv("run", suite, "--out", run), env=cli.environment(), cwd=cli.folder, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            until(lambda: len(list(run.glob("trials/*other*/jobs/0/rank-*.jsonl"))) == 2)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.terminate()
    assert process.returncode == 130
    assert "Interrupted" in out
    first, second = cli.document()["cells"]
    assert (first["status"], second["status"]) == ("ok", "interrupted")
    kept = (run / "trials").glob("0001*/result.json").__next__().stat().st_mtime_ns

    record = json.loads((run / "run.json").read_text())
    for trial in record["plan"]:
        trial["cell"]["variant"]["settings"]["step_s"] = 0.01  # the test does not wait 600 s
    (run / "run.json").write_text(json.dumps(record))
    resumed = cli("run", "--resume", run)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert [c["status"] for c in cli.document()["cells"]] == ["ok", "ok"]
    assert (run / "trials").glob("0001*/result.json").__next__().stat().st_mtime_ns == kept
    assert list((run / "trials").glob("0002*.attempt-1"))


def test_two_runs_do_not_measure_at_once(cli: Cli) -> None:
    suite = cli.folder / "suite.yaml"
    suite.write_text(fake_suite("{step_s: 600}"))
    first = subprocess.Popen(
        cli.argv("run", suite, "--out", cli.folder / "run"), env=cli.environment(), stdout=subprocess.DEVNULL
    )
    try:
        until(lambda: bool(list((cli.folder / "run").glob("trials/*/jobs/0/rank-*.jsonl"))))
        assert trial_processes(str(cli.folder / "state")), "what must be gone after a test is seen while it is there"
        second = cli("run", suite, "--out", cli.folder / "second")
        assert second.returncode == 2
        assert "another Paceline run" in second.stderr
        assert not (cli.folder / "second").exists()
    finally:
        first.terminate()
        assert first.wait(timeout=60) == 130
