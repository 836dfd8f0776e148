"""Jobs that raise, hang, die or linger: the trial says so, the others go on, nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, fake_suite
from paceline.conductor.machine.leftovers import remove_build_locks, shared_memory_names
from paceline.conductor.machine.processes import LOG_HEAD_BYTES, LOG_TAIL_BYTES, Child, processes_with
from paceline.launchers.contract import Command


def ours() -> list[int]:
    """Return processes of any Paceline trial of this user."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"PACELINE_TRIAL=" in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Any:
    shared, temporary = shared_memory_names(), set(Path("/tmp").glob("pl-*"))
    yield
    assert ours() == []
    assert shared_memory_names() <= shared
    assert set(Path("/tmp").glob("pl-*")) <= temporary


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


def test_a_strangers_shared_memory_stays(cli: Cli) -> None:
    theirs = Path("/dev/shm") / f"dataset-{os.getpid()}"
    suite = cli.folder / "suite.yaml"
    suite.write_text(fake_suite("{step_s: 0.3}"))
    try:
        with subprocess.Popen(
            cli.argv("run", suite, "--out", cli.folder / "run"), env=cli.environment(), stdout=subprocess.DEVNULL
        ) as run:
            _until(lambda: bool(list((cli.folder / "run").glob("trials/*/jobs/0/rank-*.jsonl"))))
            theirs.write_text("appeared during a trial")
            assert run.wait(timeout=60) == 0
        assert theirs.exists()
    finally:
        theirs.unlink()


def test_a_detached_grandchild_is_found_and_told(cli: Cli) -> None:
    done = cli.suite(fake_suite("{linger: true}"))
    assert done.returncode == 0
    assert "outlived its launcher" in " ".join(cli.document()["cells"][0]["flags"].values())


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
            _until(lambda: len(list(run.glob("trials/*other*/jobs/0/rank-*.jsonl"))) == 2)
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
        _until(lambda: bool(list((cli.folder / "run").glob("trials/*/jobs/0/rank-*.jsonl"))))
        second = cli("run", suite, "--out", cli.folder / "second")
        assert second.returncode == 2
        assert "another Paceline run" in second.stderr
        assert not (cli.folder / "second").exists()
    finally:
        first.terminate()
        assert first.wait(timeout=60) == 130


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
            _until(lambda: processes_with("PACELINE_TRIAL=mine") == [child.pid])
            assert processes_with("PACELINE_TRIAL=min") == []
        finally:
            child.kill()


def _until(condition: Any, patience_s: float = 60) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "what the test waits for did not happen"
        time.sleep(0.02)


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
