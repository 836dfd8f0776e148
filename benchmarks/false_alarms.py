"""How often proofs accuse honest strategies: proofs at many seeds, in one two-rank group, against a single process.

    python benchmarks/false_alarms.py [--workload lenet5] [--strategies ddp,fsdp2,zero0,zero1,zero2,zero3] [--seeds 20]

Prints a line a strategy: how many proofs were equal, and the largest difference; exit 1 if any was not equal.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from paceline.analysis.same_work.differences import ProofRecords
from paceline.analysis.same_work.proof_outcome import proof_outcome
from paceline.conductor.machine.leftovers import swept
from paceline.launchers.environment import base_environment, operator_cache, scripts_dir
from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.proof import ProofPlan, WorkOutcome
from paceline.schema.suite import Category, Load
from paceline.schema.trial import Cell, Job
from paceline.store.raw import read_arrays, read_ranks
from paceline.workloads.descriptor import workload_named

RERUNS = 8


def main() -> int:
    """Run the single processes, then all strategies in one group; compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="lenet5")
    parser.add_argument("--strategies", default="ddp,fsdp2,zero0,zero1,zero2,zero3,zero3-offload")
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    strategies = arguments.strategies.split(",")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:
        environment = base_environment(Conditions(), "cpu", Path(folder), {})
        arguments_of_ranks = [
            __file__,
            "--rank",
            folder,
            arguments.workload,
            arguments.strategies,
            str(arguments.seeds),
        ]
        torchrun = [
            str(scripts_dir() / "torchrun"),
            "--standalone",
            "--local-addr",
            "127.0.0.1",
            "--nproc-per-node",
            "2",
        ]
        for command in ([sys.executable, *arguments_of_ranks], [*torchrun, *arguments_of_ranks]):
            with swept(operator_cache()):
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(done.stderr[-3000:])
        for strategy in strategies:
            proofs = [
                proof_outcome(
                    _read(folder, strategy, seed), _read(folder, "alone", seed), _cell(arguments.workload, 2), RERUNS
                )
                for seed in range(arguments.seeds)
            ]
            equal = sum(proof.outcome is WorkOutcome.EQUAL for proof in proofs)
            failed += len(proofs) - equal
            worst = max((p.max_relative_difference or 0.0 for p in proofs), default=0.0)
            print(f"{strategy:14} {equal} of {len(proofs)} equal, worst {worst:.1e}")
            for seed, proof in enumerate(proofs):
                if proof.outcome is not WorkOutcome.EQUAL:
                    print(f"   seed {seed}: {proof.outcome}: {proof.cause}")
    return int(failed > 0)


def _read(folder: str, name: str, seed: int) -> ProofRecords:
    out = Path(folder) / f"{name}-{seed}"
    return ProofRecords(read_ranks(out), read_arrays(out / "rank-0-proof.npz"))


def _cell(workload: str, ranks: int) -> Cell:
    tier = workload_named(workload).tiers["cpu"]
    batch = tier.global_batch
    return Cell(
        comparison=0, category=Category.MODERATE_COMPLEXITY, workload=workload, tier="cpu", data="real",
        dataset=tier.datasets[-1], engine=EngineName("torchrun", "ddp"), load=Load(), ranks=ranks,
        micro_batch=batch // 2, accumulation=2 // ranks, samples=batch * 5 + batch // 2, incomplete_batch="drop",
        warm_up_steps=0, steps=12, evaluate=False, oversubscribe=False, timeout_s=600,
    )  # fmt: skip


def prove(folder: str, workload: str, strategies: list[str], seeds: int) -> None:
    """Prove as the single process or as one rank of the group: every strategy at every seed, one after another."""
    import torch.distributed as dist

    from paceline.rank.proof_trial import Prover
    from paceline.rank.recorder import Recorder
    from paceline.strategies.contract import Membership

    membership = Membership.from_environment()
    grouped = membership.world_size > 1
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[membership.rank % len(cores)]})
    if grouped:
        dist.init_process_group("gloo")
    cell = _cell(workload, membership.world_size)
    for strategy in strategies if grouped else ["single"]:
        for seed in range(seeds):
            plan = ProofPlan(reference=True, reruns=RERUNS)
            if grouped:
                (alone,) = read_ranks(Path(folder) / f"alone-{seed}")
                assert alone.proof_scale is not None
                plan = ProofPlan(**alone.proof_scale.model_dump())
            out = str(Path(folder) / f"{strategy if grouped else 'alone'}-{seed}")
            job = Job(
                trial_id="false-alarms", job_id=0,
                cell=cell.model_copy(update={"engine": EngineName("torchrun", strategy)}),
                seed=seed, conditions=Conditions(), devices=(0, 1), lease_dir=folder, out_dir=out,
                tree_marker="PACELINE_TRIAL=false-alarms", proof=plan, alone=True,
            )  # fmt: skip
            recorder = Recorder(out, membership.rank)
            for event, value in (("process_started_ns", 0), ("reused_process", False), ("cores", [])):
                recorder.write(event, value)
            joined = Membership(membership.rank, membership.world_size, membership.local_rank, joined=grouped)
            Prover(job, joined, recorder).run()
            recorder.close()
    if grouped:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        prove(sys.argv[2], sys.argv[3], sys.argv[4].split(","), int(sys.argv[5]))
    else:
        sys.exit(main())
