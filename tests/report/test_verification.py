"""Numbers that anybody can derive again: ``verify`` finds whatever was changed."""

import json
from pathlib import Path

import numpy as np

from support.command_line import Cli
from support.records import edit_json


def test_verify_agrees_with_an_honest_run(cli: Cli, run: Path) -> None:
    done = cli.here("verify", run)
    assert done.returncode == 0
    assert "all agree" in done.stdout


def _flatter(data: dict) -> None:
    data["measures"]["samples_per_s"]["value"] *= 1.01


def test_verify_finds_a_flattered_result(cli: Cli, run: Path) -> None:
    (result,) = run.glob("trials/*/result.json")
    edit_json(result, _flatter)
    done = cli.here("verify", run, "--json")
    assert done.returncode == 1
    assert "samples_per_s" in json.loads(done.stdout)["disagreements"][0]


def test_verify_finds_changed_step_boundaries(cli: Cli, run: Path) -> None:
    (path,) = run.glob("trials/*/jobs/0/rank-1-steps.npy")
    np.save(path, np.load(path) // 2)
    assert cli.here("verify", run).returncode == 1


def test_verify_finds_a_changed_event(cli: Cli, run: Path) -> None:
    (path,) = run.glob("trials/*/jobs/0/rank-0.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["event"] == "samples":
            line["value"]["per_step"][5] += 1
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli.here("verify", run).returncode == 1


def test_verify_finds_a_changed_job_time(cli: Cli, run: Path) -> None:
    (path,) = run.glob("trials/*/jobs.jsonl")
    job = json.loads(path.read_text())
    path.write_text(json.dumps(job | {"ready_ns": job["ready_ns"] - 5}) + "\n")
    assert cli.here("verify", run).returncode == 1


def test_verify_says_what_is_missing(cli: Cli, run: Path) -> None:
    (path,) = run.glob("trials/*/ending.json")
    path.unlink()
    done = cli.here("verify", run)
    assert done.returncode == 1
    assert "ending.json" in done.stdout
