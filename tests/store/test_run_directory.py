"""The run directory: whole files, cut-off lines, and numbers that anybody can derive again."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from paceline.analysis.one_trial.derive import derive
from paceline.errors import RecordError
from paceline.schema.trial import Status
from paceline.store.files import read_model, write_whole
from paceline.store.raw import json_lines, read_rank
from paceline.store.run_directory import TrialDirectory
from support.builders import fake_suite
from support.command_line import Cli


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the fake engine, to be copied and damaged."""
    cli = Cli(tmp_path_factory.mktemp("recorded"))
    done = cli.suite(fake_suite("{step_s: 0.02}", steps=10))
    assert done.returncode == 0, done.stderr
    return cli.folder / "run"


@pytest.fixture
def run(recorded: Path, cli: Cli) -> Path:
    import shutil

    return Path(shutil.copytree(recorded, cli.folder / "run"))


def edit_json(path: Path, change: Callable[[dict], None]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_verify_agrees_with_an_honest_run(cli: Cli, run: Path) -> None:
    done = cli("verify", run)
    assert done.returncode == 0
    assert "all agree" in done.stdout


def _flatter(data: dict) -> None:
    data["measures"]["samples_per_s"]["value"] *= 1.01


def test_verify_finds_a_flattered_result(cli: Cli, run: Path) -> None:
    (result,) = run.glob("trials/*/result.json")
    edit_json(result, _flatter)
    done = cli("verify", run, "--json")
    assert done.returncode == 1
    assert "samples_per_s" in json.loads(done.stdout)["disagreements"][0]


def test_verify_finds_changed_step_boundaries(cli: Cli, run: Path) -> None:
    (path,) = run.glob("trials/*/jobs/0/rank-1-steps.npy")
    np.save(path, np.load(path) // 2)
    assert cli("verify", run).returncode == 1


def test_verify_finds_a_changed_event(cli: Cli, run: Path) -> None:
    (path,) = run.glob("trials/*/jobs/0/rank-0.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["event"] == "samples":
            line["value"]["per_step"][5] += 1
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli("verify", run).returncode == 1


def test_verify_finds_a_changed_job_time(cli: Cli, run: Path) -> None:
    (path,) = run.glob("trials/*/jobs.jsonl")
    job = json.loads(path.read_text())
    path.write_text(json.dumps(job | {"ready_ns": job["ready_ns"] - 5}) + "\n")
    assert cli("verify", run).returncode == 1


def test_verify_says_what_is_missing(cli: Cli, run: Path) -> None:
    (path,) = run.glob("trials/*/ending.json")
    path.unlink()
    done = cli("verify", run)
    assert done.returncode == 1
    assert "ending.json" in done.stdout


def test_a_later_schema_is_refused(cli: Cli, run: Path) -> None:
    edit_json(run / "run.json", lambda data: data.update(schema_version=99))
    done = cli("show", run)
    assert done.returncode == 1
    assert "schema version 99" in done.stderr


def test_a_rank_that_dies_anywhere_gives_a_result_and_never_a_figure(run: Path) -> None:
    (path,) = run.glob("trials/*/jobs/0/rank-1.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    directory = TrialDirectory(path.parents[2])
    for kept in range(len(lines) - 1):  # the last line only says when the rank was done
        path.write_text("".join(lines[:kept]))
        assert derive(directory.records()).status is Status.INVALID, lines[kept]
    (path.parent / "rank-1-steps.npy").unlink()
    path.write_text("".join(lines))
    assert derive(directory.records()).status is Status.INVALID


def test_show_json_has_the_promised_keys(cli: Cli, run: Path) -> None:
    document = json.loads(cli("show", run, "--json").stdout)
    assert {"schema_version", "suite", "machine", "conditions", "cells", "verdicts"} <= document.keys()
    (cell,) = document["cells"]
    assert {
        "id", "category", "workload", "data", "engine", "ranks", "load", "status", "cause", "trials", "same_work",
        "same_conditions", "metrics",
    } <= cell.keys()  # fmt: skip
    assert cell["load"] == {"jobs": 1, "arrival": "together"}
    assert {"outcome", "steps", "max_relative_difference"} <= cell["same_work"].keys()
    assert {"median", "min", "max", "n", "unit", "better"} <= cell["metrics"]["samples_per_s"].keys()
    assert document["verdicts"] == []


def test_metrics_of_one_job_are_the_contracts_names(cli: Cli, run: Path) -> None:
    names = json.loads(cli("show", run, "--json").stdout)["cells"][0]["metrics"].keys()
    assert {
        "samples_per_s", "step_p50_s", "step_p95_s", "first_step_s", "startup_s", "peak_pss_bytes",
        "model_flops_utilisation",
    } <= names  # fmt: skip


def test_a_whole_write_replaces_or_leaves(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_whole(path, "one")
    write_whole(path, "two")
    assert path.read_text() == "two"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_a_line_that_a_kill_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.jsonl"
    path.write_text('{"event": "process_started_ns", "value": 5}\n{"event": "cor')
    record = read_rank(path)
    assert record is not None
    assert record.process_started_ns == 5


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": 1}\n{"ev\n{"event": 2}\n')
    with pytest.raises(RecordError, match=r"events\.jsonl:2"):
        list(json_lines(path))


def test_reading_names_the_file_and_the_field(tmp_path: Path) -> None:
    from paceline.schema.records import Ending

    (tmp_path / "ending.json").write_text('{"status": "ok"}')
    with pytest.raises(RecordError, match=r"ending\.json cannot be read"):
        read_model(tmp_path / "ending.json", Ending)
