"""The most likely setting behind work that is not the same: each kind of fault leaves a trace of its own.

The gradient that an engine stepped on is written as a combination of the gradients of all ranks' micro-batches, which
the single process has recorded apart. Honest work weighs them all alike; the weights tell who was summed, scaled,
clipped, left out or counted twice. What no weights explain is held against other hypotheses, one after another.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from paceline.analysis.same_work.differences import ProofRecords, gradients, updates
from paceline.schema.proof import Part

CLOSE = 2e-3
"""Relative: two factors are the same one."""
ALIGNED = 0.95
"""Cosine of two sketched directions that are one."""
STILL = 1e-12
INVISIBLE = 0.01
"""Gradients that are smaller by this factor move weights by less than their rounding: only their norm can tell."""


def likely_cause(
    mine: ProofRecords, reference: ProofRecords, learning_rate: float, loss_scale: float, accumulation: int
) -> str:
    """Return what most likely lies behind a difference, in words; empty when nothing fits."""
    case = _Case(mine, reference, learning_rate, loss_scale, accumulation)
    tests: tuple[Callable[[], str], ...] = (
        case.ranks_apart,
        case.frozen,
        case.rounded,
        case.dropout,
        case.clipped,
        case.batch_statistics,
        case.shares,
        case.scaled,
        case.decay,
        case.skipped,
        case.miscounted,
        case.settings,
    )
    return next((said for test in tests if (said := test())), "")


IMPLEMENTATION = {"foreach", "fused", "capturable", "differentiable"}
"""Settings of torch's optimisers that say how the same arithmetic is done: engines' own under ``as-shipped``."""


class _Case:
    def __init__(
        self, mine: ProofRecords, reference: ProofRecords, learning_rate: float, loss_scale: float, accumulation: int
    ) -> None:
        self.mine, self.reference = mine, reference
        self.accumulation = accumulation
        self.gradients = gradients(mine, learning_rate) / loss_scale
        self.expected = gradients(reference, learning_rate) / loss_scale
        self.components = np.asarray(reference.arrays["components"])
        self.moving = np.linalg.norm(self.gradients[0], axis=1) > STILL
        self.shares_of_first, self.unexplained = self._fit()

    def _fit(self) -> tuple[NDArray[np.float64], float]:
        """Return each micro-batch's factor beside its honest share (1 is honest), and the share that none explains."""
        basis = self.components[:, self.moving].reshape(len(self.components), -1).T
        target = self.gradients[0][self.moving].ravel()
        factors, *_ = np.linalg.lstsq(basis, target, rcond=None)
        left = float(np.linalg.norm(basis @ factors - target)) / max(float(np.linalg.norm(target)), STILL)
        return factors * len(self.components), left

    @property
    def factor(self) -> float | None:
        """The one factor of all micro-batches, or None where they differ."""
        middle = float(np.median(self.shares_of_first))
        alike = np.abs(self.shares_of_first - middle) <= CLOSE * max(abs(middle), STILL)
        return middle if self.unexplained < 10 * CLOSE and bool(alike.all()) else None

    def ranks_apart(self) -> str:
        for part in (Part.GRADIENTS, Part.TRAINING):
            digests = zip(*(p.weights_digests for p in self.mine.part(part)), strict=True)
            for step, found in enumerate(digests):
                if len(set(found)) > 1:
                    when = f"after step {step}" if step else "at the start"
                    return (
                        f"ranks hold different weights {when}: each has a seed of its own, or gradients are not reduced"
                    )
        return ""

    def frozen(self) -> str:
        """A parameter that has a gradient and stays where it is, while others move."""
        if not self.moving.any():
            return ""
        moves = np.linalg.norm(self.expected[0], axis=1) > 1e-6 * np.linalg.norm(self.expected[0])
        still = [name for name, stuck in zip(self.mine.tensors, moves & ~self.moving, strict=True) if stuck]
        if not still:
            return ""
        more = f" and {len(still) - 1} more" if len(still) > 1 else ""
        return f"parameter {still[0]}{more} does not move: it is frozen, or the optimiser does not hold it"

    def rounded(self) -> str:
        wrong = self.mine.part(Part.TRAINING)[0].bf16_weights and not self.reference.part(Part.TRAINING)[0].bf16_weights
        return "weights are bf16 numbers after every step: the masters are not fp32" if wrong else ""

    def dropout(self) -> str:
        found = max(p.live.dropout for p in self.mine.part(Part.GRADIENTS))
        return f"dropout of {found:g} is on" if found else ""

    def clipped(self) -> str:
        """A clipped gradient has the same norm in every step, below what it should be."""
        norms = self.mine.gradient_norms(Part.GRADIENTS)
        right = self.reference.gradient_norms(Part.GRADIENTS)
        settings = self.mine.part(Part.GRADIENTS)[0].live.gradient_clipping
        said = f" (its own setting says {settings:g})" if settings else ""
        flat = float(np.ptp(norms)) <= 1e-3 * float(norms.max()) and float(np.ptp(right)) > 1e-2 * float(right.max())
        if flat and float(norms.max()) < 0.9 * float(right.min()):
            return f"gradients are clipped at norm {norms.mean():.3g}{said}"
        return f"gradient clipping is on{said}" if settings else ""

    def batch_statistics(self) -> str:
        whole = self.reference.arrays.get("whole_batch")
        if whole is None:
            return ""
        apart = float(np.linalg.norm(self.gradients[0] - whole) / np.linalg.norm(whole))
        other = float(np.linalg.norm(self.expected[0] - whole) / np.linalg.norm(whole))
        if apart < 1e-2 * other:
            return "batch statistics are taken over all ranks' samples: BatchNorm is synchronised"
        return ""

    def shares(self) -> str:
        if self.unexplained >= 10 * CLOSE or self.factor is not None:
            return ""
        said = []
        for index, factor in enumerate(self.shares_of_first):
            rank, micro = divmod(index, self.accumulation)
            where = f"rank {rank}" + (f", micro-batch {micro + 1}" if self.accumulation > 1 else "")
            if abs(factor) < CLOSE:
                said.append(f"samples of {where} have no part in the gradient")
            elif abs(factor - 1) > CLOSE:
                said.append(f"samples of {where} count {factor:.3g} times")
        return "; ".join(said)

    def scaled(self) -> str:
        factor = self.factor
        if factor is None and (norm := self._norm_ratio()) < INVISIBLE:
            factor = norm
        if factor is None or abs(factor - 1) <= CLOSE:
            return ""
        if abs(self._update_ratio() - factor) <= CLOSE * factor:
            return f"the learning rate is {factor:.4g} times what is stated"
        ranks = len(self.mine.ranks)
        named = (
            (ranks, "summed over ranks instead of averaged"),
            (1 / ranks, "divided by the number of ranks twice"),
            (self.accumulation, "not divided by the number of micro-batches"),
            (1 / self.accumulation, "divided by the number of micro-batches twice"),
        )
        said = [text for value, text in named if value != 1 and abs(factor - value) <= CLOSE * value]
        times = f"{factor:.4g} times what they should be" + (f", 1/{1 / factor:.0f}" if factor < 0.1 else "")
        return f"gradients are {', or '.join(said)} ({times})" if said else f"gradients are {times}"

    def _norm_ratio(self) -> float:
        """The norm of what first entered the optimiser, beside what should have."""
        ours, theirs = (float(p.gradient_norms(Part.GRADIENTS)[0]) for p in (self.mine, self.reference))
        return ours / max(theirs, STILL)

    def _update_ratio(self) -> float:
        """The size of the first step of the workload's own optimiser, along what it should be."""
        ours, theirs = (updates(proven, Part.TRAINING)[0].ravel() for proven in (self.mine, self.reference))
        return float(ours @ theirs / (theirs @ theirs))

    def decay(self) -> str:
        for part in (Part.TRAINING, Part.GRADIENTS):
            weights = self.reference.weights(part)[0].ravel()
            more = (updates(self.mine, part)[0] - updates(self.reference, part)[0]).ravel()
            size = float(np.linalg.norm(more) * np.linalg.norm(weights))
            if size > 0 and -(more @ weights) / size > ALIGNED:
                rate = float(self.reference.part(part)[0].live.optimiser_settings["lr"])
                return f"weights decay by {-(more @ weights) / (weights @ weights) / rate:.3g} more than is stated"
        return ""

    def skipped(self) -> str:
        for part in (Part.GRADIENTS, Part.TRAINING):
            record = self.mine.part(part)[0]
            steps = np.diff(self.mine.weights(part), axis=0)
            for number, change in enumerate(steps, 1):
                if not np.any(change):
                    said = "it says so" if not record.applied[number - 1] else "it says that it applied it"
                    return f"step {number} changes nothing: the optimiser skips it ({said})"
        return ""

    def miscounted(self) -> str:
        """Adam corrects its means by the number of steps; one that was never made makes the first ones too small."""
        for part in self.mine.ranks[0].proof:
            counted, made = part.live.optimiser_steps, sum(part.applied)
            if counted is not None and counted != made:
                return f"the optimiser has counted {counted} steps, {made} were made"
        return ""

    def settings(self) -> str:
        return "; ".join(self._differing_settings())

    def _differing_settings(self) -> Iterator[str]:
        ours, theirs = (p.part(Part.TRAINING)[0].live.optimiser_settings for p in (self.mine, self.reference))
        for name in sorted(ours.keys() & theirs.keys() - IMPLEMENTATION):
            if ours[name] != theirs[name]:
                yield f"{name} is {ours[name]}, the workload says {theirs[name]}"
