"""What a proof of same work asks of a rank (METHOD §11); what the rank writes down is among the records."""

from enum import StrEnum

from paceline.spec.model import Model

PROOF_VERSION = 2
"""Raised whenever proofs or their judgement change, so that a cached reference is never that of another version."""

PROOF_SEED = 20_251_111
"""Of weights and order of samples in every proof, whatever the seed of the run."""

SKETCH_WIDTH = 64
"""Numbers that stand for a tensor: its random projection. Norms are estimated within about a fifth, which is plenty
beside tolerances that are orders of magnitude away from faults; a tensor of fewer elements is kept as it is."""


class Part(StrEnum):
    """The trainings of one proof trial, each from the same initial weights."""

    GRADIENTS = "gradients"
    """Proof A: fp32, plain SGD, scaled loss; updates are gradients."""
    TRAINING = "training"
    """Proof B in fp32: the workload's own optimiser."""
    RECIPE = "recipe"
    """Proof B in the cell's own precision, where that is not fp32."""

    END = "end"
    """Proof C: one step in a timed trial, after its window, from the state that the engine has come to by then."""


STEPS = {Part.GRADIENTS: 3, Part.TRAINING: 12, Part.RECIPE: 12, Part.END: 1}

END_RERUNS = 3
"""Of the single process in proof C. It costs a step of the whole global batch on one device each."""


class ProofPlan(Model):
    """What a rank of a proof trial does."""

    reference: bool = False
    """The single process: states the scale, the gradient of each micro-batch, and reruns."""
    reruns: int = 0
    """Repetitions with samples permuted within micro-batches: how far rounding alone carries a training."""
    loss_scale: float = 1.0
    """Of part A, so that gradient norms are far above one: a clip at a threshold shows at once."""
    learning_rate: float = 1.0
    """Of part A: an update that is some hundredths of the weights, far above their rounding."""


class Proof(Model):
    """The judgement of one engine's proof trial against the single process."""

    outcome: str
    """``equal``, ``different`` or ``unproven``."""
    steps: int
    """Steps of the workload's own optimiser that were compared."""
    max_relative_difference: float | None
    """Of losses, gradient norms and updates in fp32; tensors that are unsteady by themselves left out."""
    cause: str
    """What first parted, at which step, by how much, and the most likely setting behind it."""

    @classmethod
    def unproven(cls, cause: str) -> "Proof":
        """Return that nothing can be said, and why."""
        return cls(outcome="unproven", steps=0, max_relative_difference=None, cause=cause)
