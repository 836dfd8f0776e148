"""Where the work of an engine first differs from that of the reference process (docs/method.md, "Same work").

Everything here is a pure function of what ranks wrote. Weights come as sketches (``rank/sketch.py``), shape
(steps + 1, tensors, width): linear, so an update's sketch is a difference of two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from paceline.schema.proof import Part
from paceline.schema.records import PartRecord, RankRecord
from paceline.schema.suite import Recipe

Array = NDArray[np.float64]

GRADIENT_TOLERANCE = 1e-5
"""Largest difference of a tensor's gradient, relative to it, in ``Part.GRADIENTS``."""
SMALL_GRADIENT = 0.01
"""Share of the whole gradient's norm. A tensor whose gradient is below it (its true gradient may be zero) is compared
relative to this share."""
FLOOR = {Recipe.FP32: 1e-6, Recipe.AMP: 2**-8, Recipe.BF16_MASTER: 2**-8}
"""Relative differences of the other parts that are never held against an engine. bf16 keeps eight bits."""
ENVELOPE_FACTOR = 10.0
"""How many times as far as the reference process' own reruns an engine may lie from it."""
UNSTEADY = 0.1
"""Tensors whose update varies by more than this between reruns are skipped: Adam amplifies rounding where gradients
vanish."""
_HALF_ULP = 2.0**-24


@dataclass(frozen=True)
class ProofRecords:
    """What one proof trial left: its ranks' records, and rank 0's arrays."""

    ranks: list[RankRecord]
    arrays: Mapping[str, Array]

    def part(self, name: str) -> list[PartRecord]:
        """Return the records of one part, one a rank. Raises KeyError when a rank never did it."""
        found = [next((p for p in rank.proof if p.part == name), None) for rank in self.ranks]
        if not found or any(p is None for p in found):
            raise KeyError(f"part {name!r} is not recorded by every rank")
        return [p for p in found if p is not None]

    def weights(self, name: str) -> Array:
        """Return the sketches of all weights at the start and after each step."""
        return np.asarray(self.arrays[f"{name}/weights"])

    def losses(self, name: str) -> Array:
        """Return the mean loss over ranks, one a step."""
        mean: Array = np.mean([p.losses for p in self.part(name)], axis=0)
        return mean

    def gradient_norms(self, name: str) -> Array:
        """Return the norm of the gradient that entered the optimiser: of whole gradients, or of shards together."""
        parts = self.part(name)
        squares = np.array([p.gradient_squares for p in parts])
        total = parts[0].live.parameters_total
        sharded = len(parts) > 1 and all(p.live.optimiser_parameters_local < total for p in parts)
        norms: Array = np.sqrt(squares.sum(axis=0) if sharded else squares.max(axis=0))
        return norms

    @cached_property
    def tensors(self) -> list[str]:
        """Names of the tensors, in the arrays' order."""
        return self.ranks[0].proof_tensors


@dataclass(frozen=True)
class FirstDifference:
    """The first quantity in which an engine is not the single process."""

    quantity: str
    step: int
    difference: float
    where: str = ""

    def __str__(self) -> str:
        at = f" of {self.where}" if self.where else ""
        return f"{self.quantity}{at} parts at step {self.step} by {self.difference:.1e}"


def gradients(found: ProofRecords, learning_rate: float) -> Array:
    """Return the scaled gradients that the updates of ``Part.GRADIENTS`` show: shape (steps, tensors, width)."""
    weights = found.weights(Part.GRADIENTS)
    return (weights[:-1] - weights[1:]) / learning_rate


def updates(found: ProofRecords, name: str) -> Array:
    """Return what each step has changed since the start: shape (steps, tensors, width)."""
    weights = found.weights(name)
    since_start: Array = weights[1:] - weights[0]
    return since_start


def first_gradient_difference(
    mine: ProofRecords, reference: ProofRecords, learning_rate: float
) -> FirstDifference | None:
    """Compare gradients tensor by tensor, as far as the rounding of the weights lets their updates be seen."""
    ours, theirs = (gradients(proven, learning_rate) for proven in (mine, reference))
    whole = np.linalg.norm(theirs, axis=(1, 2))[:, None]
    scale = np.maximum(np.linalg.norm(theirs, axis=2), SMALL_GRADIENT * whole)
    relative = np.linalg.norm(ours - theirs, axis=2) / scale
    visible = _rounding(reference.weights(Part.GRADIENTS)) / (learning_rate * scale)
    return _first(relative, np.maximum(GRADIENT_TOLERANCE, visible), "gradient", mine.tensors)


def first_training_difference(
    mine: ProofRecords, reference: ProofRecords, reruns: int, name: str, recipe: Recipe
) -> tuple[FirstDifference | None, float]:
    """Compare a training with the reference process and its reruns; return also the largest difference."""
    names = [f"{name}-{number}" for number in range(1, reruns + 1)]
    found: list[FirstDifference] = []
    worst = 0.0
    quantities = [("loss", ProofRecords.losses), ("gradient norm", ProofRecords.gradient_norms)]
    for quantity, read in quantities[: 2 if recipe is Recipe.FP32 else 1]:
        base = read(reference, name)
        envelope = np.max([_relative(read(reference, rerun), base) for rerun in names], axis=0)
        difference = _relative(read(mine, name), base)
        worst = max(worst, float(difference.max()))
        parted = _first(
            difference[:, None], np.maximum(FLOOR[recipe], ENVELOPE_FACTOR * envelope)[:, None], quantity, [""]
        )
        found += [parted] if parted else []
    if recipe is Recipe.FP32:
        base = updates(reference, name)
        size = np.maximum(np.linalg.norm(base, axis=2), np.finfo(float).tiny)
        envelope = np.max([np.linalg.norm(updates(reference, r) - base, axis=2) / size for r in names], axis=0)
        difference = np.linalg.norm(updates(mine, name) - base, axis=2) / size
        steady = envelope <= UNSTEADY
        difference = np.where(steady, difference, 0.0)
        worst = max(worst, float(difference.max()))
        # Adam's first update is the rate with a sign: reruns agree in it to the last bit, and another order of the same
        # arithmetic may still round a weight of one the other way.
        visible = _rounding(reference.weights(name)) / size
        tolerance = np.maximum.reduce([np.full_like(visible, FLOOR[recipe]), ENVELOPE_FACTOR * envelope, visible])
        parted = _first(difference, tolerance, "update", mine.tensors)
        found += [parted] if parted else []
    return min(found, key=lambda p: p.step, default=None), worst


def _rounding(weights: Array) -> Array:
    """Return how far rounding alone may part weights from others after each step: shape (steps, tensors)."""
    norms: Array = np.linalg.norm(weights[:-1], axis=2)
    return 4 * _HALF_ULP * norms


def _relative(values: Array, base: Array) -> Array:
    return np.abs(values - base) / np.maximum(np.abs(base), np.finfo(float).tiny)


def _first(difference: Array, tolerance: Array, quantity: str, names: list[str]) -> FirstDifference | None:
    """Return where a difference (steps, things) first exceeds its tolerance, at its worst thing; NaN exceeds."""
    beyond = ~(difference <= tolerance)
    if not beyond.any():
        return None
    step = int(np.argmax(beyond.any(axis=1)))
    thing = int(np.argmax(np.where(beyond[step], np.nan_to_num(difference[step], nan=np.inf), -1.0)))
    return FirstDifference(quantity, step + 1, float(difference[step, thing]), names[thing])
