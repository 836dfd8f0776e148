"""The outcome of a proof. Comparisons come in causal order: an early difference explains those that follow."""

from paceline.analysis.same_work.differences import ProofRecords, first_gradient_difference, first_training_difference
from paceline.analysis.same_work.likely_cause import likely_cause
from paceline.schema.proof import END_RERUNS, STEPS, Part, Proof, WorkOutcome
from paceline.schema.suite import Recipe
from paceline.schema.trial import Cell
from paceline.schema.trial_records import TrialRecords


def proof_outcome(engine: ProofRecords, reference: ProofRecords, cell: Cell, reruns: int) -> Proof:
    """Return ``equal`` or ``different`` with the cause, or ``unproven`` where a record is missing.

    ``reruns``: how many reruns of the reference process were recorded.
    """
    try:
        return _proof_outcome(engine, reference, cell, reruns)
    except (KeyError, ValueError, IndexError) as error:
        return Proof.unproven(f"the records of the proof do not suffice: {error}")


def _proof_outcome(engine: ProofRecords, reference: ProofRecords, cell: Cell, reruns: int) -> Proof:
    scale = reference.ranks[0].proof_scale
    if scale is None:
        raise ValueError("the single process stated no scale")
    parts = [Part.GRADIENTS, Part.TRAINING] + ([Part.RECIPE] if cell.recipe is not Recipe.FP32 else [])
    for part in parts:
        if cause := _other_initial_weights(engine, reference, part) or _other_samples(engine, reference, part):
            return _different(cause, None)
    in_gradients = first_gradient_difference(engine, reference, scale.learning_rate)
    in_training, worst = first_training_difference(engine, reference, reruns, Part.TRAINING, Recipe.FP32)
    differences = [d for d in (in_gradients, in_training) if d is not None]
    if cell.recipe is not Recipe.FP32:
        in_recipe, _ = first_training_difference(engine, reference, reruns, Part.RECIPE, cell.recipe)
        differences += [in_recipe] if in_recipe else []
    why = likely_cause(engine, reference, scale.learning_rate, scale.loss_scale, cell.accumulation)
    if differences or why:
        return _different("; ".join(filter(None, [why, str(differences[0]) if differences else ""])), worst)
    return Proof(
        outcome=WorkOutcome.EQUAL,
        steps=STEPS[Part.TRAINING],
        max_relative_difference=worst,
        cause="initial weights, samples, gradients, losses and updates are those of a single process",
    )


def end_proof_outcome(records: TrialRecords) -> Proof | None:
    """Return the outcome of ``Part.END`` in a timed trial that ended well; None where the trial has no such proof."""
    if not records.trial.prove_end:
        return None
    ranks = records.ranks[0]
    if why := next((rank.end_unproven for rank in ranks if rank.end_unproven), None):
        return Proof.unproven(why)
    reference_arrays = {
        name.removeprefix("alone/"): array for name, array in records.proof_arrays.items() if name.startswith("alone/")
    }
    engine = ProofRecords(ranks, records.proof_arrays)
    reference = ProofRecords([ranks[0].model_copy(update={"proof": ranks[0].end_alone})], reference_arrays)
    try:
        return _end_proof_outcome(engine, reference, records.trial.cell.recipe)
    except (KeyError, ValueError, IndexError) as error:
        return Proof.unproven(f"the records of the proof do not suffice: {error}")


def _end_proof_outcome(engine: ProofRecords, reference: ProofRecords, recipe: Recipe) -> Proof:
    digests = {part.weights_digests[0] for part in engine.part(Part.END)}
    if len(digests) > 1:
        return _different("ranks hold different weights at the end of the window", None)
    if digests != {reference.part(Part.END)[0].weights_digests[0]}:
        raise ValueError("the single process did not take over the weights exactly")
    if cause := _other_samples(engine, reference, Part.END):
        return _different(cause, None)
    difference, worst = first_training_difference(engine, reference, END_RERUNS, Part.END, recipe)
    if difference:
        return _different(f"after the window {difference}", worst)
    return Proof(
        outcome=WorkOutcome.EQUAL,
        steps=STEPS[Part.END],
        max_relative_difference=worst,
        cause="from the state at the end of the window it takes the step of a single process",
    )


def _different(cause: str, worst: float | None) -> Proof:
    return Proof(outcome=WorkOutcome.DIFFERENT, steps=STEPS[Part.TRAINING], max_relative_difference=worst, cause=cause)


def _other_initial_weights(engine: ProofRecords, reference: ProofRecords, part: Part) -> str:
    """Return how the initial weights differ from those of the reference process, in words; empty where they do not."""
    digests = [p.weights_digests[0] for p in engine.part(part)]
    expected_digest = reference.part(part)[0].weights_digests[0]
    if len(set(digests)) > 1:
        return "ranks start from different weights: each has a seed of its own"
    if digests[0] == expected_digest:
        return ""
    weights, expected = (proof.weights(part)[0] for proof in (engine, reference))
    by_tensor = zip(engine.tensors, weights, expected, strict=True)
    name = next((name for name, sketch, right in by_tensor if (sketch != right).any()), "its tensors")
    return f"initial weights are not those of the single process, from {name} on"


def _other_samples(engine: ProofRecords, reference: ProofRecords, part: Part) -> str:
    """Return how consumed samples differ from those of the reference process, in words; empty where they do not.

    Each rank should consume its share of every global batch, in order.
    """
    (reference_part,) = reference.part(part)
    ranks = engine.part(part)
    for step, batch in enumerate(reference_part.samples):
        share = len(batch) // len(ranks)
        expected = [batch[r * share : (r + 1) * share] for r in range(len(ranks))]
        consumed = [p.samples[step] for p in ranks]
        if consumed == expected:
            continue
        rank = next(r for r in range(len(ranks)) if consumed[r] != expected[r])
        if consumed[rank] in expected:
            fault = f"rank {rank} consumed the samples of rank {expected.index(consumed[rank])}"
        elif len(set(consumed[rank])) < len(set(expected[rank])):
            fault = f"rank {rank} consumed samples repeatedly"
        elif step and set(consumed[rank]) != set(expected[rank]):
            fault = (
                f"rank {rank} consumed other samples (is an epoch's incomplete last batch dropped by one of the two?)"
            )
        else:
            fault = f"rank {rank} consumed other samples"
        return f"{fault}, first at step {step + 1}"
    return ""
