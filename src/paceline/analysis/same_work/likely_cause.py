"""The most likely setting behind work that is not the same: each kind of fault leaves a trace of its own.

The gradient of an engine's first step is written as a combination of the gradients of all ranks' micro-batches, which
the reference process has recorded one by one. Where the work is the same, every micro-batch has the same factor. Other
factors show which samples were left out or counted twice, and whether gradients were summed or scaled.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paceline.analysis.same_work.differences import Array, ProofRecords, gradients, updates
from paceline.schema.proof import Part

RELATIVE_TOLERANCE = 2e-3
"""Largest relative difference at which two factors count as the same."""
LARGEST_UNEXPLAINED = 10 * RELATIVE_TOLERANCE
"""Share of a gradient's norm. Where more than this is left unexplained, the factors of micro-batches mean nothing."""
ALIGNED = 0.95
"""Smallest cosine of two sketched vectors that count as the same direction."""
ZERO_NORM = 1e-12
"""Largest norm that counts as zero; it also keeps denominators above zero."""
BELOW_ROUNDING = 0.01
"""Ratio to the expected gradient norm below which updates disappear in the rounding of the weights. Then only the
recorded norms show by which factor gradients are too small."""
IMPLEMENTATION_SETTINGS = {"foreach", "fused", "capturable", "differentiable"}
"""Settings of torch's optimisers that choose how the same arithmetic is carried out. They are no difference of work:
engines keep their own under ``as-shipped``."""


@dataclass(frozen=True)
class Case:
    """The records of an engine and of the reference process, and what the hypotheses need to know of them."""

    engine: ProofRecords
    reference: ProofRecords
    accumulation: int
    """Micro-batches of one rank in one step."""
    gradients: Array
    """The engine's gradients, shape (steps, tensors, width)."""
    expected: Array
    """The reference process' gradients, of the same shape."""
    moving: np.ndarray
    """Whether the engine's first step changes a tensor, shape (tensors,)."""
    factors: Array
    """Factor of each micro-batch in the engine's first gradient, shape (ranks * accumulation,). 1 is right."""
    unexplained: float
    """Share of the norm of the engine's first gradient that no combination of micro-batches explains."""

    @classmethod
    def of(
        cls, engine: ProofRecords, reference: ProofRecords, learning_rate: float, loss_scale: float, accumulation: int
    ) -> "Case":
        """Return the case of an engine. Raises KeyError where the records of a proof are incomplete."""
        engine_gradients = gradients(engine, learning_rate) / loss_scale
        expected = gradients(reference, learning_rate) / loss_scale
        components = np.asarray(reference.arrays["components"])
        moving = np.linalg.norm(engine_gradients[0], axis=1) > ZERO_NORM
        # A tensor that stands still has no gradient to fit and would only spoil the fit of the others.
        factors, unexplained = _fit(components[:, moving], engine_gradients[0][moving])
        return cls(engine, reference, accumulation, engine_gradients, expected, moving, factors, unexplained)

    @property
    def common_factor(self) -> float | None:
        """The factor that all micro-batches share, or None where they differ."""
        middle = float(np.median(self.factors))
        alike = np.abs(self.factors - middle) <= RELATIVE_TOLERANCE * max(abs(middle), ZERO_NORM)
        return middle if self.unexplained < LARGEST_UNEXPLAINED and bool(alike.all()) else None

    @property
    def norm_ratio(self) -> float:
        """Norm of the first gradient that entered the optimiser, engine / reference process."""
        engine, reference = (float(p.gradient_norms(Part.GRADIENTS)[0]) for p in (self.engine, self.reference))
        return engine / max(reference, ZERO_NORM)

    @property
    def update_ratio(self) -> float:
        """Size of the first step of the workload's own optimiser along the right direction, engine / reference."""
        engine, reference = (updates(p, Part.TRAINING)[0].ravel() for p in (self.engine, self.reference))
        return float(engine @ reference / (reference @ reference))


def _fit(components: np.ndarray, gradient: Array) -> tuple[Array, float]:
    """Return each micro-batch's factor in a gradient, and the share of the gradient that is left unexplained.

    ``components``: the micro-batches' gradients, shape (micro-batches, tensors, width). Each has an honest share of
    one over their number, and factors are relative to that share.
    """
    basis = components.reshape(len(components), -1).T
    target = gradient.ravel()
    shares, *_ = np.linalg.lstsq(basis, target, rcond=None)
    unexplained = float(np.linalg.norm(basis @ shares - target)) / max(float(np.linalg.norm(target)), ZERO_NORM)
    return shares * len(components), unexplained


def ranks_diverge(case: Case) -> str:
    """Ranks with different seeds, or whose gradients are not reduced, hold different weights."""
    for part in (Part.GRADIENTS, Part.TRAINING):
        digests_by_step = zip(*(p.weights_digests for p in case.engine.part(part)), strict=True)
        for step, digests in enumerate(digests_by_step):
            if len(set(digests)) > 1:
                when = f"after step {step}" if step else "at the start"
                return f"ranks hold different weights {when}: each has a seed of its own, or gradients are not reduced"
    return ""


def frozen_parameter(case: Case) -> str:
    """A frozen parameter should have a gradient, but stays where it is while others move."""
    if not case.moving.any():
        return ""
    should_move = np.linalg.norm(case.expected[0], axis=1) > 1e-6 * np.linalg.norm(case.expected[0])
    frozen = [name for name, is_stuck in zip(case.engine.tensors, should_move & ~case.moving, strict=True) if is_stuck]
    if not frozen:
        return ""
    more = f" and {len(frozen) - 1} more" if len(frozen) > 1 else ""
    return f"parameter {frozen[0]}{more} does not move: it is frozen, or the optimiser does not hold it"


def rounded_weights(case: Case) -> str:
    """Without fp32 masters every weight is a bf16 number after every step."""
    engine, reference = case.engine.part(Part.TRAINING)[0], case.reference.part(Part.TRAINING)[0]
    is_rounded = engine.bf16_weights and not reference.bf16_weights
    return "weights are bf16 numbers after every step: the masters are not fp32" if is_rounded else ""


def dropout(case: Case) -> str:
    """Dropout makes gradients random, which fits no pattern, but its rate is read back from the live modules."""
    rate = max(p.live.dropout for p in case.engine.part(Part.GRADIENTS))
    return f"dropout of {rate:g} is on" if rate else ""


def clipped_gradients(case: Case) -> str:
    """Clipped gradients have the same norm in every step, below the norm that they should have."""
    norms = case.engine.gradient_norms(Part.GRADIENTS)
    expected = case.reference.gradient_norms(Part.GRADIENTS)
    setting = case.engine.part(Part.GRADIENTS)[0].live.gradient_clipping
    stated = f" (its own setting says {setting:g})" if setting else ""
    constant = float(np.ptp(norms)) <= 1e-3 * float(norms.max())
    should_vary = float(np.ptp(expected)) > 1e-2 * float(expected.max())
    if constant and should_vary and float(norms.max()) < 0.9 * float(expected.min()):
        return f"gradients are clipped at norm {norms.mean():.3g}{stated}"
    return f"gradient clipping is on{stated}" if setting else ""


def shared_batch_statistics(case: Case) -> str:
    """Synchronised BatchNorm gives the gradient of one whole batch, which the reference process has recorded too."""
    whole_batch = case.reference.arrays.get("whole_batch")
    if whole_batch is None:
        return ""
    norm = np.linalg.norm(whole_batch)
    distance = float(np.linalg.norm(case.gradients[0] - whole_batch) / norm)
    right_distance = float(np.linalg.norm(case.expected[0] - whole_batch) / norm)
    if distance < 1e-2 * right_distance:
        return "batch statistics are taken over all ranks' samples: BatchNorm is synchronised"
    return ""


def uneven_shares(case: Case) -> str:
    """Micro-batches that were left out have the factor 0; micro-batches that were repeated have a factor above 1."""
    if case.unexplained >= LARGEST_UNEXPLAINED or case.common_factor is not None:
        return ""
    texts = []
    for index, factor in enumerate(case.factors):
        rank, micro_batch = divmod(index, case.accumulation)
        where = f"rank {rank}" + (f", micro-batch {micro_batch + 1}" if case.accumulation > 1 else "")
        if abs(factor) < RELATIVE_TOLERANCE:
            texts.append(f"samples of {where} have no part in the gradient")
        elif abs(factor - 1) > RELATIVE_TOLERANCE:
            texts.append(f"samples of {where} count {factor:.3g} times")
    return "; ".join(texts)


def scaled_gradients(case: Case) -> str:
    """A wrong scale gives all micro-batches one factor.

    A wrong learning rate scales the updates of the workload's own optimiser by that factor as well.
    """
    factor = case.common_factor
    if factor is None and (norm_ratio := case.norm_ratio) < BELOW_ROUNDING:
        factor = norm_ratio
    if factor is None or abs(factor - 1) <= RELATIVE_TOLERANCE:
        return ""
    if abs(case.update_ratio - factor) <= RELATIVE_TOLERANCE * factor:
        return f"the learning rate is {factor:.4g} times what is stated"
    ranks = len(case.engine.ranks)
    known_factors = (
        (ranks, "summed over ranks instead of averaged"),
        (1 / ranks, "divided by the number of ranks twice"),
        (case.accumulation, "not divided by the number of micro-batches"),
        (1 / case.accumulation, "divided by the number of micro-batches twice"),
    )
    matches = [
        text for value, text in known_factors if value != 1 and abs(factor - value) <= RELATIVE_TOLERANCE * value
    ]
    times = f"{factor:.4g} times what they should be" + (f", 1/{1 / factor:.0f}" if factor < 0.1 else "")
    return f"gradients are {', or '.join(matches)} ({times})" if matches else f"gradients are {times}"


def weight_decay(case: Case) -> str:
    """Additional weight decay adds to the first update a vector that points from the weights towards zero."""
    for part in (Part.TRAINING, Part.GRADIENTS):
        weights = case.reference.weights(part)[0].ravel()
        excess = (updates(case.engine, part)[0] - updates(case.reference, part)[0]).ravel()
        size = float(np.linalg.norm(excess) * np.linalg.norm(weights))
        if size > 0 and -(excess @ weights) / size > ALIGNED:
            rate = float(case.reference.part(part)[0].live.optimiser_settings["lr"])
            return f"weights decay by {-(excess @ weights) / (weights @ weights) / rate:.3g} more than is stated"
    return ""


def skipped_step(case: Case) -> str:
    """A skipped step changes no weight; the engine may or may not have recorded that the step was not applied."""
    for part in (Part.GRADIENTS, Part.TRAINING):
        record = case.engine.part(part)[0]
        changes = np.diff(case.engine.weights(part), axis=0)
        for number, change in enumerate(changes, 1):
            if not np.any(change):
                claim = "it says that it applied it" if record.applied[number - 1] else "it says so"
                return f"step {number} changes nothing: the optimiser skips it ({claim})"
    return ""


def miscounted_steps(case: Case) -> str:
    """An optimiser that counts a step that was never made takes first steps of the wrong size.

    Adam corrects its means by the number of steps.
    """
    for part in case.engine.ranks[0].proof:
        counted, made = part.live.optimiser_steps, sum(part.applied)
        if counted is not None and counted != made:
            return f"the optimiser has counted {counted} steps, {made} were made"
    return ""


def optimiser_settings(case: Case) -> str:
    """Other settings of the optimiser can be read back from the live object."""
    engine, reference = (p.part(Part.TRAINING)[0].live.optimiser_settings for p in (case.engine, case.reference))
    return "; ".join(
        f"{name} is {engine[name]}, the workload says {reference[name]}"
        for name in sorted(engine.keys() & reference.keys() - IMPLEMENTATION_SETTINGS)
        if engine[name] != reference[name]
    )


@dataclass(frozen=True)
class Hypothesis:
    """A kind of fault, and the test for the trace that it leaves."""

    name: str
    test: Callable[[Case], str]
    """Returns the likely cause in words, or an empty text where the trace is not there."""


HYPOTHESES = (
    Hypothesis("ranks diverge", ranks_diverge),
    Hypothesis("frozen parameter", frozen_parameter),
    Hypothesis("rounded weights", rounded_weights),
    Hypothesis("dropout", dropout),
    Hypothesis("clipped gradients", clipped_gradients),
    Hypothesis("shared batch statistics", shared_batch_statistics),
    Hypothesis("uneven shares", uneven_shares),
    Hypothesis("scaled gradients", scaled_gradients),
    Hypothesis("weight decay", weight_decay),
    Hypothesis("skipped step", skipped_step),
    Hypothesis("miscounted steps", miscounted_steps),
    Hypothesis("optimiser settings", optimiser_settings),
)
"""All hypotheses in the order in which they are tried. The first one that fits is the answer, so the order matters:
clipped gradients, for example, have a common factor in each step, as scaled gradients have, and come before them."""


def likely_cause(
    engine: ProofRecords, reference: ProofRecords, learning_rate: float, loss_scale: float, accumulation: int
) -> str:
    """Return what most likely lies behind a difference, in words; empty when no hypothesis fits."""
    case = Case.of(engine, reference, learning_rate, loss_scale, accumulation)
    return next((cause for hypothesis in HYPOTHESES if (cause := hypothesis.test(case))), "")
