"""Checks that everything works on one GPU, within ten minutes; exit 1 when a check fails.

    python benchmarks/one_gpu.py [--out DIR]

Runs the suite beside this file (every launcher, every workload of the gpu tier, every strategy but zero3-offload) and
checks of each trial that it ended well, on CUDA, with NCCL, that device memory was measured, that steps timed by CUDA
events add up to the window by the host's clock, and that the loss went down.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from paceline.schema.records import RankRecord
from paceline.schema.trial import Status
from paceline.schema.trial_records import TrialRecords
from paceline.store.run_directory import RunDirectory

BUDGET = "10m"
TOLERANCE = 0.05
"""Largest relative difference between the sum of steps by CUDA events and the window by the host's clock."""


def main() -> int:
    """Run the suite, print a line a trial, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/one-gpu"))
    out = parser.parse_args().out
    suite = Path(__file__).with_suffix(".yaml")
    command = [sys.executable, "-m", "paceline.cli.main", "run", str(suite), "--out", str(out), "--budget", BUDGET]
    ran = subprocess.run(command, check=False).returncode
    if ran == 2:
        return ran
    directory = RunDirectory(out)
    failed = False
    for trial in directory.run().plan:
        stored = directory.trial(trial)
        failures = list(_failures(stored.records())) if stored.finished else ["not run: the budget ran out"]
        failed |= bool(failures)
        print(f"{'FAIL' if failures else 'ok':5} {trial.cell.id}  {'; '.join(failures)}")
    return int(failed)


def _failures(records: TrialRecords) -> Iterator[str]:
    cell = records.trial.cell
    for job in records.jobs:
        if job.status is not Status.OK:
            yield f"job {job.job_id} {job.status}: {job.cause}"
            continue
        for rank in records.ranks[job.job_id]:
            yield from _rank_failures(rank, cell.engine.strategy)
            steps = records.bounds[job.job_id, rank.rank][1 + cell.warm_up_steps :]
            assert rank.window_start_ns is not None
            assert rank.window_end_ns is not None
            share = float(np.diff(steps, axis=1).sum()) / (rank.window_end_ns - rank.window_start_ns)
            if abs(share - 1) > TOLERANCE:
                yield f"events add up to {share:.1%} of the window"


def _rank_failures(rank: RankRecord, strategy: str) -> Iterator[str]:
    assert rank.live is not None
    if rank.live.device_type != "cuda":
        yield f"trained on {rank.live.device_type}"
    if strategy != "single" and rank.live.backend != "nccl":
        yield f"backend {rank.live.backend}"
    if not any(edge.device and edge.device.peak_reserved_bytes for edge in rank.memory):
        yield "no device memory was measured"
    if not np.mean(rank.losses[-5:]) < rank.losses[0]:
        yield f"the loss went from {rank.losses[0]:.4f} to {np.mean(rank.losses[-5:]):.4f}"


if __name__ == "__main__":
    sys.exit(main())
