"""The JSON document of a run has the promised keys."""

import json
from pathlib import Path

from support.command_line import Cli


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
    names = cli.document()["cells"][0]["metrics"].keys()
    assert {
        "samples_per_s", "step_p50_s", "step_p95_s", "first_step_s", "startup_s", "peak_pss_bytes",
        "model_flops_utilisation",
    } <= names  # fmt: skip
