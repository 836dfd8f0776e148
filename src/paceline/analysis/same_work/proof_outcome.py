"""The outcome of a proof: what must agree, in the order in which a difference explains all that follow."""

from paceline.analysis.same_work.differences import ProofRecords, first_gradient_difference, first_training_difference
from paceline.analysis.same_work.likely_cause import likely_cause
from paceline.schema.proof import END_RERUNS, STEPS, Part, Proof, WorkOutcome
from paceline.schema.suite import Recipe
from paceline.schema.trial import Cell
from paceline.schema.trial_records import TrialRecords


def proof_outcome(mine: ProofRecords, reference: ProofRecords, cell: Cell, reruns: int) -> Proof:
    """Return ``equal`` or ``different`` with the cause, or ``unproven`` where something is missing."""
    try:
        return _proof_outcome(mine, reference, cell, reruns)
    except (KeyError, ValueError, IndexError) as error:
        return Proof.unproven(f"the records of the proof do not suffice: {error}")


def _proof_outcome(mine: ProofRecords, reference: ProofRecords, cell: Cell, reruns: int) -> Proof:
    scale = reference.ranks[0].proof_scale
    if scale is None:
        raise ValueError("the single process stated no scale")
    parts = [Part.GRADIENTS, Part.TRAINING] + ([Part.RECIPE] if cell.recipe is not Recipe.FP32 else [])
    for part in parts:
        if said := _initial_weights(mine, reference, part) or _samples(mine, reference, part):
            return _different(said, None)
    parted = first_gradient_difference(mine, reference, scale.learning_rate)
    later, worst = first_training_difference(mine, reference, reruns, Part.TRAINING, Recipe.FP32)
    found = [p for p in (parted, later) if p is not None]
    if cell.recipe is not Recipe.FP32:
        in_recipe, _ = first_training_difference(mine, reference, reruns, Part.RECIPE, cell.recipe)
        found += [in_recipe] if in_recipe else []
    why = likely_cause(mine, reference, scale.learning_rate, scale.loss_scale, cell.accumulation)
    if found or why:
        return _different("; ".join(filter(None, [why, str(found[0]) if found else ""])), worst)
    return Proof(
        outcome=WorkOutcome.EQUAL,
        steps=STEPS[Part.TRAINING],
        max_relative_difference=worst,
        cause="initial weights, samples, gradients, losses and updates are those of a single process",
    )


def end_proof_outcome(records: TrialRecords) -> Proof | None:
    """Return the outcome of the proof at the end of a timed trial that ended well; None where none was wanted."""
    if not records.trial.prove_end:
        return None
    ranks = records.ranks[0]
    if why := next((rank.end_unproven for rank in ranks if rank.end_unproven), None):
        return Proof.unproven(why)
    alone = {
        name.removeprefix("alone/"): array for name, array in records.proof_arrays.items() if name.startswith("alone/")
    }
    mine = ProofRecords(ranks, records.proof_arrays)
    reference = ProofRecords([ranks[0].model_copy(update={"proof": ranks[0].end_alone})], alone)
    try:
        return _end_proof_outcome(mine, reference, records.trial.cell.recipe)
    except (KeyError, ValueError, IndexError) as error:
        return Proof.unproven(f"the records of the proof do not suffice: {error}")


def _end_proof_outcome(mine: ProofRecords, reference: ProofRecords, recipe: Recipe) -> Proof:
    held = {part.weights_digests[0] for part in mine.part(Part.END)}
    if len(held) > 1:
        return _different("ranks hold different weights at the end of the window", None)
    if held != {reference.part(Part.END)[0].weights_digests[0]}:
        raise ValueError("the single process did not take over the weights exactly")
    if said := _samples(mine, reference, Part.END):
        return _different(said, None)
    parted, worst = first_training_difference(mine, reference, END_RERUNS, Part.END, recipe)
    if parted:
        return _different(f"after the window {parted}", worst)
    return Proof(
        outcome=WorkOutcome.EQUAL,
        steps=STEPS[Part.END],
        max_relative_difference=worst,
        cause="from the state at the end of the window it takes the step of a single process",
    )


def _different(cause: str, worst: float | None) -> Proof:
    return Proof(outcome=WorkOutcome.DIFFERENT, steps=STEPS[Part.TRAINING], max_relative_difference=worst, cause=cause)


def _initial_weights(mine: ProofRecords, reference: ProofRecords, part: Part) -> str:
    theirs = reference.part(part)[0].weights_digests[0]
    digests = [p.weights_digests[0] for p in mine.part(part)]
    if len(set(digests)) > 1:
        return "ranks start from different weights: each has a seed of its own"
    if digests[0] == theirs:
        return ""
    a, b = (proven.weights(part)[0] for proven in (mine, reference))
    name = next((n for n, x, y in zip(mine.tensors, a, b, strict=True) if (x != y).any()), "its tensors")
    return f"initial weights are not those of the single process, from {name} on"


def _samples(mine: ProofRecords, reference: ProofRecords, part: Part) -> str:
    """Compare what ranks consumed with their shares of what the single process did."""
    (alone,) = reference.part(part)
    ranks = mine.part(part)
    for step, whole in enumerate(alone.samples):
        share = len(whole) // len(ranks)
        right = [whole[r * share : (r + 1) * share] for r in range(len(ranks))]
        taken = [p.samples[step] for p in ranks]
        if taken == right:
            continue
        rank = next(r for r in range(len(ranks)) if taken[r] != right[r])
        if taken[rank] in right:
            said = f"rank {rank} consumed the samples of rank {right.index(taken[rank])}"
        elif len(set(taken[rank])) < len(set(right[rank])):
            said = f"rank {rank} consumed samples repeatedly"
        elif step and set(taken[rank]) != set(right[rank]):
            said = (
                f"rank {rank} consumed other samples (is an epoch's incomplete last batch dropped by one of the two?)"
            )
        else:
            said = f"rank {rank} consumed other samples"
        return f"{said}, first at step {step + 1}"
    return ""
