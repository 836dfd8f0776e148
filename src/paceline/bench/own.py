"""A user's own workload classes: one child process imports and checks them before anything is planned."""

import json
import subprocess
import sys
from pathlib import Path

from paceline.bench.litter import make_temp_dir, remove_temp_dir
from paceline.launchers.environment import base_environment
from paceline.spec import registry
from paceline.spec.conditions import Conditions
from paceline.spec.errors import RequestError
from paceline.spec.suite import Suite
from paceline.workloads import datasets, descriptor
from paceline.workloads.descriptor import WorkloadDescriptor, WorkloadTier

CHECK_PATIENCE_S = 300


def describe_all(suite: Suite) -> None:
    """Make every ``module:Class`` of a suite known. Raises RequestError that says what is wrong with a class."""
    for name in dict.fromkeys(c.workload for c in suite.comparisons):
        if descriptor.is_own(name):
            descriptor.remember(_describe(name, suite.import_path))


def _describe(name: str, import_path: str | None) -> WorkloadDescriptor:
    if reason := registry.unavailable(("torch",)):
        raise RequestError(f"workload {name!r} cannot be checked: {reason}")
    temp_dir = make_temp_dir()
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "paceline.drivers.check_workload", name],
            env=base_environment(Conditions(), "cpu", temp_dir, {}, import_path),
            cwd=Path.cwd(),
            capture_output=True,
            text=True,
            timeout=CHECK_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RequestError(
            f"workload {name!r}: building, one batch and one loss took longer than {CHECK_PATIENCE_S} s"
        ) from None
    finally:
        remove_temp_dir(temp_dir)
    if answer.returncode != 0:
        last = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise RequestError(f"workload {name!r}: {last}")
    facts = json.loads(answer.stdout.splitlines()[-1])
    dataset = datasets.OWN_REAL if facts["data"] == "real" else datasets.OWN_SYNTHETIC
    tier = WorkloadTier((dataset,), facts["global_batch"], facts["flops_per_sample"] or 0.0, facts["summary"])
    return WorkloadDescriptor(name, name, {"cpu": tier, "gpu": tier}, ("torch",))
