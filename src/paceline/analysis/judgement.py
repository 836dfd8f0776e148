"""The outcome of a proof: what must agree, in the order in which a difference explains all that follow."""

from paceline.analysis.proof import Proof, Proven, parted_gradients, parted_training
from paceline.analysis.suspects import suspects
from paceline.spec.proof import STEPS, Part
from paceline.spec.suite import Recipe
from paceline.spec.trial import Cell


def judge(mine: Proven, reference: Proven, cell: Cell, reruns: int) -> Proof:
    """Return ``equal`` or ``different`` with the cause, or ``unproven`` where something is missing."""
    try:
        return _judge(mine, reference, cell, reruns)
    except (KeyError, ValueError, IndexError) as error:
        return Proof.unproven(f"the records of the proof do not suffice: {error}")


def _judge(mine: Proven, reference: Proven, cell: Cell, reruns: int) -> Proof:
    scale = reference.ranks[0].proof_scale
    if scale is None:
        raise ValueError("the single process stated no scale")
    parts = [Part.GRADIENTS, Part.TRAINING] + ([Part.RECIPE] if cell.recipe is not Recipe.FP32 else [])
    for part in parts:
        if said := _initial_weights(mine, reference, part) or _samples(mine, reference, part):
            return _different(said, None)
    parted = parted_gradients(mine, reference, scale.learning_rate)
    later, worst = parted_training(mine, reference, reruns, Part.TRAINING, Recipe.FP32)
    found = [p for p in (parted, later) if p is not None]
    if cell.recipe is not Recipe.FP32:
        in_recipe, _ = parted_training(mine, reference, reruns, Part.RECIPE, cell.recipe)
        found += [in_recipe] if in_recipe else []
    why = suspects(mine, reference, scale.learning_rate, scale.loss_scale, cell.accumulation)
    if found or why:
        return _different("; ".join(filter(None, [why, str(found[0]) if found else ""])), worst)
    return Proof(
        outcome="equal",
        steps=STEPS[Part.TRAINING],
        max_relative_difference=worst,
        cause="initial weights, samples, gradients, losses and updates are those of a single process",
    )


def _different(cause: str, worst: float | None) -> Proof:
    return Proof(outcome="different", steps=STEPS[Part.TRAINING], max_relative_difference=worst, cause=cause)


def _initial_weights(mine: Proven, reference: Proven, part: Part) -> str:
    theirs = reference.part(part)[0].weights_digests[0]
    digests = [p.weights_digests[0] for p in mine.part(part)]
    if len(set(digests)) > 1:
        return "ranks start from different weights: each has a seed of its own"
    if digests[0] == theirs:
        return ""
    a, b = (proven.weights(part)[0] for proven in (mine, reference))
    name = next((n for n, x, y in zip(mine.tensors, a, b, strict=True) if (x != y).any()), "its tensors")
    return f"initial weights are not those of the single process, from {name} on"


def _samples(mine: Proven, reference: Proven, part: Part) -> str:
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
