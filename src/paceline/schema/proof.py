"""What a proof of same work asks of a rank, and its outcome (docs/method.md, "Same work")."""

from enum import StrEnum

from paceline.schema.model import Model

PROOF_VERSION = 2
"""Raised whenever proofs or the way they are compared change, so that a cached reference process is never that of
another version."""

PROOF_SEED = 20_251_111
"""Seed of initial weights and sample order in every proof, independent of the run's seed."""

SKETCH_WIDTH = 64
"""Numbers that stand for a tensor: its random projection. Norms are estimated within about a fifth, which is plenty
beside tolerances that are orders of magnitude away from faults; a tensor of fewer elements is kept as it is."""


class WorkOutcome(StrEnum):
    """Whether an engine's work is that of a single process."""

    EQUAL = "equal"
    UNPROVEN = "unproven"
    DIFFERENT = "different"

    @property
    def severity(self) -> int:
        """Order in which one outcome spoils a row more than another: 0 for ``equal`` to 2 for ``different``."""
        return list(WorkOutcome).index(self)


class Part(StrEnum):
    """The trainings of one proof trial, each from the same initial weights."""

    GRADIENTS = "gradients"
    """fp32, plain SGD, scaled loss: updates are gradients."""
    TRAINING = "training"
    """fp32, the workload's own optimiser."""
    RECIPE = "recipe"
    """The workload's own optimiser in the cell's own precision, where that is not fp32."""

    END = "end"
    """One step in a timed trial, after its window, from the state that the engine has come to by then."""


STEPS = {Part.GRADIENTS: 3, Part.TRAINING: 12, Part.RECIPE: 12, Part.END: 1}
"""Optimiser steps of each part."""

END_RERUNS = 3
"""Reruns of the single process for ``Part.END``; each costs a step of the whole global batch on one device."""


class ProofPlan(Model):
    """What a rank of a proof trial does."""

    reference: bool = False
    """Whether this is the reference process: it states the scale, each micro-batch's gradient, and reruns."""
    reruns: int = 0
    """Repetitions with samples permuted within micro-batches: how far rounding alone carries a training."""
    loss_scale: float = 1.0
    """Factor on the loss of ``Part.GRADIENTS``, which puts gradient norms far above one: a clip shows at once."""
    learning_rate: float = 1.0
    """Rate of ``Part.GRADIENTS``: updates become some hundredths of the weights, far above their rounding."""


class Proof(Model):
    """The outcome of comparing one engine's proof trial with the reference process."""

    outcome: WorkOutcome
    steps: int
    """Steps of the workload's own optimiser that were compared."""
    max_relative_difference: float | None
    """Largest relative difference of losses, gradient norms and updates in fp32, leaving out tensors that vary among
    the reference process' own reruns."""
    cause: str
    """What first parted, at which step, by how much, and the most likely setting behind it."""

    @classmethod
    def unproven(cls, cause: str) -> "Proof":
        """Return the outcome of a proof that cannot be made, and why."""
        return cls(outcome=WorkOutcome.UNPROVEN, steps=0, max_relative_difference=None, cause=cause)
