"""Cost of a whole trial above a bare script under the same launcher: seconds from start to end, in turns.

    python benchmarks/whole_trial.py [--engines torchrun/ddp,ray-train/ddp] [--workload lenet5] [--pairs 8]

The deepspeed launcher checks once a second whether its ranks have ended, Ray's Train controller every two seconds: a
difference becomes none or one of these periods, so that for them the mean over pairs says more than the median.

A trial is all that Paceline does for it: folders, launcher, ranks with their records, clean-up, derivation. The bare
script (bare_training.py) trains the same model on as many steps of the same size under the same conditions, as a person
would write it.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from paceline.conductor.execution.trial_runner import TrialRunner
from paceline.conductor.machine.inventory import inspect_machine
from paceline.conductor.machine.leftovers import (
    make_temp_dir,
    remove_shared_memory,
    remove_temp_dir,
    shared_memory_names,
)
from paceline.conductor.planning.plan import make_plan
from paceline.conductor.planning.suites import parse_suite
from paceline.conductor.planning.workload_facts import described_workloads
from paceline.launchers.environment import base_environment, scripts_dir
from paceline.net import free_port
from paceline.schema.conditions import Conditions
from paceline.schema.trial import Status, Trial
from paceline.store.run_directory import TrialDirectory

SUITE = """
name: whole-trial
description: one trial an engine
comparisons:
  - {{category: moderate-complexity, workload: {workload}, tier: cpu, engines: [{engine}], ranks: 2, steps: {steps}}}
"""

BARE = str(Path(__file__).with_name("bare_training.py"))


def main() -> None:
    """Run Paceline's trial and the bare script in turns; print the difference for each engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="torchrun/ddp,deepspeed/zero2,ray-train/ddp")
    parser.add_argument("--workload", default="lenet5")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    print(f"{arguments.workload}, {arguments.steps} steps, {arguments.pairs} pairs: seconds of a whole trial, medians")
    for engine in arguments.engines.split(","):
        text = SUITE.format(workload=arguments.workload, engine=engine, steps=arguments.steps)
        suite = parse_suite(text, "whole-trial")
        (trial,) = make_plan(suite, described_workloads(suite), inspect_machine(), Conditions(), 0).trials
        _paceline(trial), _bare(trial)  # warm caches
        pairs = []
        for number in range(arguments.pairs):
            order = (_paceline, _bare) if number % 2 == 0 else (_bare, _paceline)
            seconds = {measure: measure(trial) for measure in order}
            pairs.append((seconds[_paceline], seconds[_bare]))
        differences = sorted(paceline_s - bare_s for paceline_s, bare_s in pairs)
        print(
            f"{engine:16} paceline {statistics.median(paceline_s for paceline_s, _ in pairs):.2f}  "
            f"bare {statistics.median(bare_s for _, bare_s in pairs):.2f}  "
            f"difference {statistics.median(differences):+.2f}  mean {statistics.mean(differences):+.2f}  "
            f"[{differences[0]:+.2f}, {differences[-1]:+.2f}]",
            flush=True,
        )


def _paceline(trial: Trial) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = TrialRunner(trial, TrialDirectory(Path(folder) / "trial"), lambda _done: None).run()
        taken = time.perf_counter() - start
    if result.status is not Status.OK:
        sys.exit(f"Paceline's trial ended {result.status}: {result.cause}")
    return taken


def _bare(trial: Trial) -> float:
    cell, temp_dir = trial.cell, make_temp_dir()
    script = [
        BARE,
        cell.engine.launcher,
        cell.engine.strategy,
        cell.workload,
        str(cell.micro_batch),
        str(cell.total_steps),
    ]
    start_command = {
        "torchrun": [
            str(scripts_dir() / "torchrun"), "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2",
        ],
        "deepspeed": [
            str(scripts_dir() / "deepspeed"), "--hostfile", "/none", "--num_accelerators", "2", "--no_local_rank",
            "--master_addr", "127.0.0.1", "--master_port", str(free_port()),
        ],
        "ray-train": [sys.executable],
    }[cell.engine.launcher]  # fmt: skip
    shared_before, since_ns = shared_memory_names(), time.time_ns()
    start = time.perf_counter()
    done = subprocess.run(
        [*start_command, *script],
        env=base_environment(Conditions(), "cpu", temp_dir, {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    taken = time.perf_counter() - start
    remove_temp_dir(temp_dir)
    remove_shared_memory(shared_before, since_ns)
    if done.returncode != 0:
        sys.exit(done.stderr[-3000:])
    return taken


if __name__ == "__main__":
    main()
