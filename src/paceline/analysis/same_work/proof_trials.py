"""Which trials prove the work of a run's engines: one proof for each engine, workload, number of ranks and precision.

One proof serves all loads and blocks. The reference process takes the same micro-batches as the engine, all in one
rank.
"""

from paceline.schema.conditions import Conditions
from paceline.schema.proof import PROOF_SEED, STEPS, Part, ProofPlan
from paceline.schema.run import Run
from paceline.schema.suite import Load
from paceline.schema.trial import Cell, Trial

RERUNS = 8
"""Repetitions of the reference process with permuted samples: they show how far rounding alone carries a training."""
EPOCH = 5.5
"""Global batches in a proof's epoch: fewer than its steps, and no whole number, so that a proof covers the end of an
epoch and an incomplete batch."""
_UNTIMED = {"load": Load(), "warm_up_steps": 0, "steps": STEPS[Part.TRAINING], "evaluate": False, "peak": None}
"""Changes that turn the cell of a timed trial into that of a proof."""


def proof_trial(run: Run, cell: Cell) -> Trial | None:
    """Return the trial that proves a cell's work; None for the fake engine, which trains nothing."""
    if not cell.trains:
        return None
    epoch = int(EPOCH * cell.global_batch)
    proven = cell.model_copy(update={**_UNTIMED, "samples": min(cell.samples or epoch, epoch)})
    return _trial(run, "proof", proven, ProofPlan())


def reference_trial(run: Run, proof: Trial) -> Trial:
    """Return the trial of the reference process that a proof is compared with."""
    trial = _trial(run, "alone", proof.cell.as_single_process(), ProofPlan(reference=True, reruns=RERUNS))
    # There is one right answer, so the reference process has the same conditions under every policy.
    return trial.model_copy(update={"conditions": Conditions()})


def proof_trials(run: Run) -> list[Trial]:
    """Return every proof that the run needs, once, in the order of the plan; empty where the suite has no proofs."""
    if not run.suite.proofs:
        return []
    cells = {trial.cell.id: trial.cell for trial in run.plan}
    proofs = (proof_trial(run, cell) for cell in cells.values())
    return list({proof.id: proof for proof in proofs if proof is not None}.values())


def _trial(run: Run, kind: str, cell: Cell, plan: ProofPlan) -> Trial:
    cores = [f"{cell.cores_per_rank}c"] if cell.cores_per_rank > 1 else []
    shape = f"{cell.ranks}r-{cell.accumulation}x{cell.micro_batch}"
    name = [cell.workload.replace(":", "."), cell.tier, cell.engine.slug, shape, *cores, cell.recipe, cell.dataset]
    return Trial(
        id="-".join([kind, *name, cell.incomplete_batch, str(cell.samples)]),
        cell=cell,
        block=0,
        position=0,
        seed=PROOF_SEED,
        conditions=run.conditions.model_copy(update={"threads_per_rank": cell.cores_per_rank}),
        devices=next(t.devices for t in run.plan if t.cell.tier == cell.tier),
        proof=plan,
    )
