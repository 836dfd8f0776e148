"""Proofs of every engine through its own launcher, against the reference process, without any timing.

    python benchmarks/all_proofs.py [--workloads resnet,decoder] [--ranks 2] [--recipe fp32] [--engines ...] [--out DIR]

More ranks than cores are oversubscribed, which does not matter to untimed proofs. Prints a line an engine, then the
seconds of all proofs; exit 1 when a proof was not equal. `paceline show --proof WORKLOAD DIR` shows all side by side.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from paceline.analysis.same_work.proof_trials import proof_trials
from paceline.analysis.whole_run.stored_proofs import stored_proof
from paceline.conductor.execution.proof_runs import proofs_in_order
from paceline.conductor.execution.trial_runner import TrialRunner
from paceline.conductor.planning.request import Request, new_run, planned
from paceline.launchers.contract import launcher_named
from paceline.schema.proof import WorkOutcome
from paceline.store.run_directory import RunDirectory

LAUNCHERS = ("python", "torchrun", "deepspeed", "ray-train", "ray-core", "ray-tune")
COMPARISON = """
  - {{category: {category}, workload: {workload}, engines: [{engines}], reference: {reference}, ranks: {ranks},
      oversubscribe: true, recipe: {recipe}, warm_up_steps: 1, steps: 2}}
"""


def main() -> int:
    """Prove one engine after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default="resnet,decoder")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--recipe", default="fp32")
    parser.add_argument("--engines", help="instead of all engines that can have so many ranks")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    out = arguments.out or Path(tempfile.mkdtemp(prefix="proofs-"))
    suite = out.with_name(f"{out.name}.yaml")
    suite.write_text(_suite(arguments))
    run = new_run(planned(Request(str(suite))), print)
    directory = RunDirectory.create(out, run)
    engines_s = reference_s = 0.0
    for trial, folder in proofs_in_order(run, directory):
        started = time.monotonic()
        result = TrialRunner(trial, folder, lambda _done: None).run()
        seconds = time.monotonic() - started
        if trial.id.startswith("alone"):
            reference_s += seconds
        else:
            engines_s += seconds
        print(f"  {seconds:5.1f} s  {result.status}  {trial.id}", flush=True)
    outcomes = [(trial.cell, stored_proof(directory, run, trial)) for trial in proof_trials(run)]
    for cell, proof in outcomes:
        number = "" if proof.max_relative_difference is None else f"{proof.max_relative_difference:.0e}"
        print(f"{cell.workload:8} {cell.engine!s:26} {cell.ranks} ranks  {proof.outcome:9} {number:6}  {proof.cause}")
    equal = sum(proof.outcome is WorkOutcome.EQUAL for _, proof in outcomes)
    print(
        f"{equal} of {len(outcomes)} equal; proofs {engines_s:.0f} s, single processes (cold) {reference_s:.0f} s; "
        f"paceline show --proof WORKLOAD {out}"
    )
    return int(equal < len(outcomes))


def _suite(arguments: argparse.Namespace) -> str:
    engines = [
        f"{launcher}/{strategy}"
        for launcher in LAUNCHERS
        for strategy in sorted(launcher_named(launcher).row.strategies)
        if (strategy == "single") == (arguments.ranks == 1)
    ]
    if arguments.engines:
        engines = arguments.engines.split(",")
    text = "name: all-proofs\ndescription: proofs alone\nblocks: 1\nminimum_blocks: 1\ncomparisons:\n"
    for workload in arguments.workloads.split(","):
        text += COMPARISON.format(
            category="large-scale", workload=workload, engines=", ".join(engines), reference=engines[0],
            ranks=arguments.ranks, recipe=arguments.recipe,
        )  # fmt: skip
    return text


if __name__ == "__main__":
    sys.exit(main())
