"""What a person types and what bad input gets: one clear message, exit 2, nothing started."""

import json
import os
from pathlib import Path

import pytest

from support.builders import fake_suite
from support.command_line import Cli

TRAPS = ["torch", "ray", "deepspeed", "transformers", "sklearn"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "quik"), "did you mean 'quick'"),
        (("run",), "no suite was named"),
        (("run", "nothing.yaml"), "does not exist"),
        (("run", "quick", "--engines", "torchrun/dpp"), "did you mean 'torchrun/ddp'"),
        (("run", "quick", "--workloads", "lenet"), "did you mean 'lenet5'"),
        (("run", "quick", "--category", "large"), "did you mean 'large-scale'"),
        (("run", "quick", "--conditions", "normal"), "did you mean 'normalised'"),
        (("run", "quick", "--budget", "10"), "90s, 10m or 2h"),
        (("run", "quick", "--blocks", "0"), "blocks"),
        (("run", "quick", "--blocks", "1000000"), "not between 1 and 1000"),
        (("run", "quick", "--engines", "x" * 10_000), "xxx... is not of the form"),
        (("run", "quick", "--set", "timeout_s=.inf"), "finite number"),
        (("run", "x" * 10_000), "unknown suite 'xxx"),
        (("run", "--resume", "nowhere"), "not a run directory"),
        (("show", "nowhere"), "not a run directory"),
        (("verify", "nowhere"), "not a run directory"),
        (("list", "things"), "things"),
    ],
)
def test_a_wrong_request_exits_with_2_and_starts_nothing(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    done = cli.here(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr) < 1000
    assert done.stdout == ""
    assert not (cli.folder / "runs").exists()


def test_a_directory_that_is_in_use_is_not_written_to(cli: Cli) -> None:
    (cli.folder / "run").mkdir()
    (cli.folder / "run" / "mine.txt").write_text("precious")
    done = cli.suite(fake_suite("{}"))
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert [p.name for p in (cli.folder / "run").iterdir()] == ["mine.txt"]


def test_an_output_directory_that_cannot_be_made(cli: Cli) -> None:
    (cli.folder / "suite.yaml").write_text(fake_suite("{}"))
    done = cli.here("run", cli.folder / "suite.yaml", "--out", "/proc/nothing/here")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_json_output_is_one_document_and_the_rest_goes_to_standard_error(cli: Cli) -> None:
    done = cli.suite(fake_suite("{step_s: 0.01}"), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["cells"][0]["status"] == "ok"
    assert "Run directory" in done.stderr


def test_a_budget_that_is_too_small_exits_with_124(cli: Cli) -> None:
    done = cli.suite(fake_suite("{step_s: 5}"), "--budget", "1s")
    assert done.returncode == 124
    assert "--resume" in done.stdout


def test_dry_run_prints_the_plan_and_starts_nothing(cli: Cli) -> None:
    done = cli.here("run", "quick", "--dry-run", "--json")
    plan = json.loads(done.stdout)
    assert len(plan["trials"]) == 12
    assert plan["estimate_s"] == pytest.approx(sum(t["estimate_s"] for t in plan["trials"]), abs=1)
    assert list(cli.folder.iterdir()) == []


@pytest.mark.parametrize("things", ["suites", "workloads", "engines", "metrics"])
def test_lists_have_name_available_reason(cli: Cli, things: str) -> None:
    rows = json.loads(cli.here("list", things, "--json").stdout)
    assert rows
    assert all({"name", "available", "reason"} <= row.keys() for row in rows)


def test_without_frameworks_the_conductor_works_and_names_the_install_lines(cli: Cli, tmp_path: Path) -> None:
    """Frameworks are made impossible to find, as after ``pip install paceline`` without extras."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {TRAPS!r}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    hidden = {"PYTHONPATH": str(tmp_path)}
    assert cli("--help", **hidden).returncode == 0
    rows = {row["name"]: row for row in json.loads(cli("list", "engines", "--json", **hidden).stdout)}
    assert rows["fake/fake"]["available"]
    assert "pip install 'paceline[ray]'" in rows["ray-core/single"]["reason"]
    assert "pip install 'paceline[deepspeed]'" in rows["torchrun/zero2"]["reason"]
    assert "pip install 'paceline[torch]'" in rows["torchrun/ddp"]["reason"]
    dry = cli("run", "quick", "--dry-run", **hidden)
    assert dry.returncode == 0
    assert "unavailable" in dry.stdout
    real = cli("run", "quick", **hidden)
    assert real.returncode == 2
    assert "pip install" in real.stderr
    assert not (tmp_path / "runs").exists()


def test_selftest_suite_holds(cli: Cli) -> None:
    """All but the half-second steps, whose 64.0 samples/s rank/test_loop.py checks exactly and without waiting."""
    variants = ["settling", "asynchronous", "fast", "quick", "padded", "dropped", "late-ranks", "lying"]
    engines = ",".join(f"fake/fake@{variant}" for variant in variants)
    done = cli("run", "selftest", "--engines", engines, "--out", cli.folder / "run")
    assert done.returncode == 0, done.stdout
    found = cli.document()["expectations"]
    assert {finding["engine"] for finding in found} == set(engines.split(","))
    assert all(finding["holds"] for finding in found)


def test_an_expectation_that_does_not_hold_exits_with_1(cli: Cli) -> None:
    expect = "expect: {fake/fake@one: [{metric: samples_per_s, value: 1}]}"
    done = cli.suite(fake_suite("{step_s: 0.01}", more=expect))
    assert done.returncode == 1
    assert "BROKEN" in done.stdout


def test_two_runs_are_compared_when_they_are_alike(cli: Cli) -> None:
    suite = cli.folder / "suite.yaml"
    suite.write_text(fake_suite("{step_s: 0.01}", engines="[fake/fake@one, fake/fake]"))
    one, other = cli.folder / "one", cli.folder / "other"
    for out in (one, other):
        assert cli("run", suite, "--out", out).returncode == 0
    found = json.loads(cli.here("compare", one, other, "--json").stdout)
    assert found["kind"] == "descriptive"
    assert [row["engine"] for row in found["cells"]] == ["fake/fake@one", "fake/fake"]
    first, second = found["cells"]
    assert first["ratio_to_reference"] is None
    assert second["ratio_to_reference"] == pytest.approx(second["ratio"] / first["ratio"])
    record = json.loads((other / "run.json").read_text())
    record["versions"]["torch"] = "0.1"
    (other / "run.json").write_text(json.dumps(record))
    refused = cli.here("compare", one, other)
    assert refused.returncode == 2
    assert "versions.torch" in refused.stderr
    assert "/ 0.1" in refused.stderr
    for key in ("versions.torch", "versions"):
        allowed = cli.here("compare", one, other, "--allow", key)
        assert allowed.returncode == 0
        assert "differ in versions.torch" in allowed.stdout
    assert "do not differ in that" in cli.here("compare", one, other, "--allow", "machine").stderr


def test_doctor_tells_what_it_found(cli: Cli) -> None:
    done = cli("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["gloo averages 1 and 2"]["status"] == "ok"
    assert f"os {os.cpu_count()}" in checks["cpus"]["found"]
    assert all(check["fix"] for check in checks.values() if check["status"] == "fail")
