"""Where the work of an engine first differs from that of the reference process (docs/method.md, "Same work").

Everything here is a pure function of what ranks wrote. Weights come as sketches (``rank/sketch.py``) of shape
(steps + 1, tensors, width). A sketch is linear: the sketch of an update is the difference of two sketches of weights.
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
"""Largest relative difference of a tensor's gradient that counts as equal in ``Part.GRADIENTS``."""
SMALL_GRADIENT = 0.01
"""Share of the whole gradient's norm. A tensor with a smaller gradient (its true gradient may be zero) is compared
relative to this share."""
FLOOR = {Recipe.FP32: 1e-6, Recipe.AMP: 2**-8, Recipe.BF16_MASTER: 2**-8}
"""Relative difference up to which losses, gradient norms and updates always count as equal, whatever the reruns show.
bf16 keeps eight bits."""
ENVELOPE_FACTOR = 10.0
"""How many times as far from the reference process as its own reruns an engine may lie."""
UNSTEADY = 0.1
"""Tensors whose update varies by more than this between reruns are skipped: Adam amplifies rounding where gradients
vanish."""
_HALF_ULP = 2.0**-24
"""Largest relative error of rounding to fp32."""


@dataclass(frozen=True)
class ProofRecords:
    """The records of one proof trial: those of its ranks, and the arrays of rank 0."""

    ranks: list[RankRecord]
    arrays: Mapping[str, Array]

    def part(self, name: str) -> list[PartRecord]:
        """Return the records of one part, one a rank. Raises KeyError when a rank has not recorded the part."""
        records = [next((p for p in rank.proof if p.part == name), None) for rank in self.ranks]
        if not records or any(p is None for p in records):
            raise KeyError(f"part {name!r} is not recorded by every rank")
        return [p for p in records if p is not None]

    def weights(self, name: str) -> Array:
        """Return the sketches of all weights at the start and after each step: shape (steps + 1, tensors, width)."""
        return np.asarray(self.arrays[f"{name}/weights"])

    def losses(self, name: str) -> Array:
        """Return the mean loss over ranks, shape (steps,)."""
        mean: Array = np.mean([p.losses for p in self.part(name)], axis=0)
        return mean

    def gradient_norms(self, name: str) -> Array:
        """Return the norm of the gradient that entered the optimiser, shape (steps,)."""
        parts = self.part(name)
        # Squares of shards add up to the square of the whole gradient; without sharding every rank has the whole one.
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
    """The first quantity in which an engine differs from the reference process."""

    quantity: str
    step: int
    difference: float
    where: str = ""

    def __str__(self) -> str:
        at = f" of {self.where}" if self.where else ""
        return f"{self.quantity}{at} parts at step {self.step} by {self.difference:.1e}"


def gradients(proof: ProofRecords, learning_rate: float) -> Array:
    """Return the scaled gradients, derived from the updates of ``Part.GRADIENTS``: shape (steps, tensors, width)."""
    weights = proof.weights(Part.GRADIENTS)
    return (weights[:-1] - weights[1:]) / learning_rate


def updates(proof: ProofRecords, name: str) -> Array:
    """Return the change of the weights from the start to the end of each step: shape (steps, tensors, width)."""
    weights = proof.weights(name)
    since_start: Array = weights[1:] - weights[0]
    return since_start


def first_gradient_difference(
    engine: ProofRecords, reference: ProofRecords, learning_rate: float
) -> FirstDifference | None:
    """Compare the gradients of each tensor; no tolerance is below what the rounding of weights does to an update."""
    engine_gradients, expected = (gradients(proof, learning_rate) for proof in (engine, reference))
    whole_norm = np.linalg.norm(expected, axis=(1, 2))[:, None]
    scale = np.maximum(np.linalg.norm(expected, axis=2), SMALL_GRADIENT * whole_norm)
    relative = np.linalg.norm(engine_gradients - expected, axis=2) / scale
    rounding = _rounding(reference.weights(Part.GRADIENTS)) / (learning_rate * scale)
    return _first(relative, np.maximum(GRADIENT_TOLERANCE, rounding), "gradient", engine.tensors)


def first_training_difference(
    engine: ProofRecords, reference: ProofRecords, reruns: int, name: str, recipe: Recipe
) -> tuple[FirstDifference | None, float]:
    """Return the first difference from the reference process in one part, and the largest relative difference.

    Losses are compared in every precision; gradient norms and updates in fp32 only. Tolerances follow from the
    ``reruns`` of the reference process.
    """
    rerun_names = [f"{name}-{number}" for number in range(1, reruns + 1)]
    differences: list[FirstDifference] = []
    worst = 0.0
    quantities = [("loss", ProofRecords.losses), ("gradient norm", ProofRecords.gradient_norms)]
    for quantity, read in quantities[: 2 if recipe is Recipe.FP32 else 1]:
        base = read(reference, name)
        envelope = np.max([_relative(read(reference, rerun), base) for rerun in rerun_names], axis=0)
        relative = _relative(read(engine, name), base)
        worst = max(worst, float(relative.max()))
        tolerance = np.maximum(FLOOR[recipe], ENVELOPE_FACTOR * envelope)
        first = _first(relative[:, None], tolerance[:, None], quantity, [""])
        differences += [first] if first else []
    if recipe is Recipe.FP32:
        base = updates(reference, name)
        size = np.maximum(np.linalg.norm(base, axis=2), np.finfo(float).tiny)
        envelope = np.max([np.linalg.norm(updates(reference, r) - base, axis=2) / size for r in rerun_names], axis=0)
        relative = np.linalg.norm(updates(engine, name) - base, axis=2) / size
        relative = np.where(envelope <= UNSTEADY, relative, 0.0)
        worst = max(worst, float(relative.max()))
        # Adam's first update is the learning rate with a sign, so reruns agree in it to the last bit. The same
        # arithmetic in another order may still round a weight near one the other way.
        rounding = _rounding(reference.weights(name)) / size
        tolerance = np.maximum.reduce([np.full_like(rounding, FLOOR[recipe]), ENVELOPE_FACTOR * envelope, rounding])
        first = _first(relative, tolerance, "update", engine.tensors)
        differences += [first] if first else []
    return min(differences, key=lambda d: d.step, default=None), worst


def _rounding(weights: Array) -> Array:
    """Return how far apart rounding alone may put the weights of two trainings after each step: (steps, tensors)."""
    norms: Array = np.linalg.norm(weights[:-1], axis=2)
    return 4 * _HALF_ULP * norms


def _relative(values: Array, base: Array) -> Array:
    return np.abs(values - base) / np.maximum(np.abs(base), np.finfo(float).tiny)


def _first(difference: Array, tolerance: Array, quantity: str, names: list[str]) -> FirstDifference | None:
    """Return the first step in which a difference exceeds its tolerance, at the name where it is largest.

    ``difference`` and ``tolerance`` have the shape (steps, names). NaN exceeds every tolerance.
    """
    beyond = ~(difference <= tolerance)
    if not beyond.any():
        return None
    step = int(np.argmax(beyond.any(axis=1)))
    column = int(np.argmax(np.where(beyond[step], np.nan_to_num(difference[step], nan=np.inf), -1.0)))
    return FirstDifference(quantity, step + 1, float(difference[step, column]), names[column])
