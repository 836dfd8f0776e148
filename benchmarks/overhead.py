"""Cost of the measured loop in a timed step: it and a plain loop drive the same wrapped objects in turns.

    python benchmarks/overhead.py [--workload lenet5] [--strategies ddp,zero2] [--blocks 40] [--steps 20]

Each block runs six windows in one process: the harness, the plain loop and the plain loop once more as a control, in
one of their six orders and then in its mirror image, so that drift cancels. A block gives two ratios to the plain loop:
that of the median step (from beginning to beginning, so that the time between steps is included) and that of whole
windows. Printed are pseudo-medians over blocks with 95 % intervals (Wilcoxon). The control shows the least difference
that the machine can resolve.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from paceline.conductor.machine.leftovers import swept
from paceline.launchers.environment import base_environment, operator_cache, scripts_dir
from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.suite import Category, Load
from paceline.schema.trial import Cell, Job
from paceline.workloads import datasets
from paceline.workloads.descriptor import workload_named

COLUMNS = ("harness, median step", "control, median step", "harness, whole window", "control, whole window")
Times = tuple[NDArray[np.int64], int]
"""Durations in ns of one window's steps and of the window itself."""


def main() -> None:
    """Start two ranks (one for ``single``) a strategy and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="lenet5")
    parser.add_argument("--strategies", default="single,ddp,fsdp2,zero0,zero2,zero3")
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--steps", type=int, default=20, help="per window")
    arguments = parser.parse_args()
    print(f"{arguments.workload}: {arguments.blocks} blocks of 6 windows of {arguments.steps} steps")
    print(f"{'':14} {'step ms':>7}  " + "  ".join(f"{name:24}" for name in COLUMNS))
    for strategy in arguments.strategies.split(","):
        ratios = _measure(arguments.workload, strategy, arguments.blocks, arguments.steps)
        cells = [_interval([float(np.log(ratio)) for ratio in ratios[name]]) for name in COLUMNS]
        shown = "  ".join(f"{middle:.4f} [{low:.4f}, {high:.4f}]" for low, middle, high in cells)
        print(f"{strategy:14} {statistics.median(ratios['step_ms']):7.2f}  {shown}", flush=True)


def _measure(workload: str, strategy: str, blocks: int, steps: int) -> dict[str, list[float]]:
    ranks = 1 if strategy == "single" else 2
    tier = workload_named(workload).tiers["cpu"]
    with tempfile.TemporaryDirectory() as folder:
        cell = Cell(
            comparison=0, category=Category.MODERATE_COMPLEXITY, workload=workload, tier="cpu", data="real",
            dataset=datasets.choose("auto", tier.datasets), engine=EngineName("torchrun", strategy), load=Load(),
            ranks=ranks, micro_batch=tier.global_batch // ranks, accumulation=1, samples=None, incomplete_batch="drop",
            warm_up_steps=0, steps=steps, evaluate=False, oversubscribe=False, timeout_s=600,
        )  # fmt: skip
        job = Job(
            trial_id="overhead", job_id=0, cell=cell, seed=0, conditions=Conditions(), devices=(0, 1), lease_dir=folder,
            out_dir=folder, tree_marker="PACELINE_TRIAL=overhead", alone=True,
        )  # fmt: skip
        (Path(folder) / "job.json").write_text(job.model_dump_json())
        command = [
            str(scripts_dir() / "torchrun"), "--standalone", "--nproc-per-node", str(ranks), __file__, "--rank", folder,
            str(blocks),
        ]  # fmt: skip
        environment = base_environment(Conditions(), "cpu", Path(folder), {})
        with swept(operator_cache()):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr[-3000:])
        return dict(json.loads((Path(folder) / "ratios.json").read_text()))


def _interval(values: list[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Return exp of (low, Hodges-Lehmann estimate, high); the interval inverts the Wilcoxon signed-rank test."""
    from scipy.stats import norm

    walsh = sorted((a + b) / 2 for a, b in combinations_with_replacement(values, 2))
    n = len(values)
    spread = (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    cut = max(0, int(n * (n + 1) / 4 - norm.ppf(0.5 + confidence / 2) * spread))
    return tuple(float(np.exp(x)) for x in (walsh[cut], statistics.median(walsh), walsh[-1 - cut]))  # type: ignore[return-value]


def rank(folder: str, blocks: int) -> None:
    """Run one rank: wrap the model once, then measure windows of the loops in turns."""
    from paceline.rank import read_back
    from paceline.rank.lease import leased_cores
    from paceline.rank.loop import Feed, run_loop
    from paceline.rank.sampler import Sampler
    from paceline.strategies.contract import Membership, load_strategy
    from paceline.workloads.contract import load_workload

    job = Job.model_validate_json((Path(folder) / "job.json").read_text())
    cell, membership = job.cell, Membership.from_environment()
    with leased_cores(job):
        strategy = load_strategy(job, membership)
        workload = load_workload(cell.workload, "cpu", cell.dataset)
        read_back.apply(job.conditions)
        group = strategy.join()
        strategy.wrap(workload)
        sampler = Sampler(workload.samples, cell.micro_batch, 1, membership.rank, cell.ranks, 0, "drop")
        feed = Feed(sampler, lambda indices: strategy.move(workload.batch(indices)), perf_counter_ns)
        # As many different batches as the harness takes, chosen in advance: repeated batches would stay in the cache.
        other = Sampler(workload.samples, cell.micro_batch, 1, membership.rank, cell.ranks, 1, "drop")
        batches = iter([other.step(n).micro_batches[0] for n in range((4 * blocks + 4) * cell.steps)])

        def harness() -> Times:
            record = run_loop(
                strategy, feed, group, perf_counter_ns, warm_up_steps=0, steps=cell.steps, at_edge=lambda _edge: None
            )
            return np.diff(record.bounds[1:, 0]), record.window_ns[1] - record.window_ns[0]

        def plain() -> Times:
            clock = strategy.step_clock(perf_counter_ns)
            marks = []
            group.barrier()
            start = perf_counter_ns()
            for _ in range(cell.steps):
                marks.append(clock.mark())
                _plain_step(strategy, workload, next(batches))
            strategy.synchronise()
            group.barrier()
            return np.diff(clock.read_ns(marks)), perf_counter_ns() - start

        loops = {"harness": harness, "plain": plain, "control": plain}
        orders = list(permutations(loops))
        measured: dict[str, list[float]] = {name: [] for name in ("step_ms", *COLUMNS)}
        for block in range(-1, blocks):
            order = orders[block % len(orders)]
            times = [(name, loops[name]()) for name in (*order, *reversed(order))]
            if block < 0:
                continue  # warm caches
            step = {
                loop: float(np.median(np.concatenate([t[0] for name, t in times if name == loop]))) for loop in loops
            }
            window = {loop: sum(t[1] for name, t in times if name == loop) for loop in loops}
            values = (step["harness"] / step["plain"], step["control"] / step["plain"])
            totals = (window["harness"] / window["plain"], window["control"] / window["plain"])
            for name, value in zip(measured, (step["plain"] / 1e6, *values, *totals), strict=True):
                measured[name].append(value)
        if membership.rank == 0:
            (Path(folder) / "ratios.json").write_text(json.dumps(measured))
        strategy.close()


def _plain_step(strategy: object, workload: object, indices: object) -> None:
    """Train one step as a person would write it: with torch's loop, or with DeepSpeed's."""
    batch = strategy.move(workload.batch(indices))  # type: ignore[attr-defined]
    model, optimiser = strategy.model, strategy.optimiser  # type: ignore[attr-defined]
    if type(model).__name__ == "DeepSpeedEngine":
        model.backward(workload.loss(model, batch))  # type: ignore[attr-defined]
        model.step()
        return
    optimiser.zero_grad(set_to_none=True)
    workload.loss(model, batch).backward()  # type: ignore[attr-defined]
    optimiser.step()


if __name__ == "__main__":
    if "--rank" in sys.argv and "RANK" in os.environ:
        rank(sys.argv[2], int(sys.argv[3]))
    else:
        main()
