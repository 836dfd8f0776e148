"""Proofs of same work: what a rank does in one, and its outcome (docs/method.md, "Same work")."""

from enum import StrEnum

from paceline.schema.model import Model

PROOF_VERSION = 2
"""Raised whenever proofs or their comparison change, so that no remembered reference process is of another version."""

PROOF_SEED = 20_251_111
"""Seed of initial weights and sample order in every proof, independent of the run's seed."""

SKETCH_WIDTH = 64
"""Numbers that represent a tensor in its sketch, a random projection.

Norms are estimated within about a fifth, which suffices because tolerances are orders of magnitude away from faults. A
tensor of fewer elements is kept as it is.
"""


class WorkOutcome(StrEnum):
    """Whether an engine trains what the reference process trains."""

    EQUAL = "equal"
    UNPROVEN = "unproven"
    DIFFERENT = "different"

    @property
    def severity(self) -> int:
        """0 for ``equal``, 1 for ``unproven``, 2 for ``different``: of several outcomes the highest counts."""
        return list(WorkOutcome).index(self)


class Part(StrEnum):
    """The trainings of one proof trial, each from the same initial weights."""

    GRADIENTS = "gradients"
    """fp32, plain SGD, scaled loss: updates show the gradients."""
    TRAINING = "training"
    """fp32, the workload's own optimiser."""
    RECIPE = "recipe"
    """The workload's own optimiser in the cell's own precision, where that is not fp32."""

    END = "end"
    """One step after the window of a timed trial, from the state that the engine has reached."""


STEPS = {Part.GRADIENTS: 3, Part.TRAINING: 12, Part.RECIPE: 12, Part.END: 1}
"""Optimiser steps of each part."""

END_RERUNS = 3
"""Reruns of the reference process in ``Part.END``; each takes a step of the whole global batch on one device."""


class ProofPlan(Model):
    """Instructions to a rank of a proof trial."""

    reference: bool = False
    """Whether this is the reference process, which also records the scale, each micro-batch's gradient, and reruns."""
    reruns: int = 0
    """Repetitions with samples permuted within micro-batches, whose spread shows the effect of rounding alone."""
    loss_scale: float = 1.0
    """Factor on the loss of ``Part.GRADIENTS``; it puts gradient norms far above one, so that a clip shows at once."""
    learning_rate: float = 1.0
    """Learning rate of ``Part.GRADIENTS``; an update is some hundredths of the weights, far above their rounding."""


class Proof(Model):
    """The outcome of comparing one engine's proof trial with the reference process."""

    outcome: WorkOutcome
    steps: int
    """Steps of the workload's own optimiser that were compared."""
    max_relative_difference: float | None
    """Largest relative difference of losses, gradient norms and updates in fp32, leaving out tensors that vary among
    the reference process' own reruns."""
    cause: str
    """The first difference with its step and size, and its most likely cause."""

    @classmethod
    def unproven(cls, cause: str) -> "Proof":
        """Return the outcome ``unproven``, for a proof that cannot be made; ``cause`` says why."""
        return cls(outcome=WorkOutcome.UNPROVEN, steps=0, max_relative_difference=None, cause=cause)
