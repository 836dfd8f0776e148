"""The contract of a workload: model, data, loss and optimiser settings; it knows nothing of any framework."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from paceline.workloads.descriptor import Tier, is_custom, workload_named

SampleIndices = NDArray[np.int64]
"""Global sample numbers, shape (n,)."""


@dataclass(frozen=True)
class OptimiserSettings:
    """Which optimiser with which settings; every strategy builds it from these and reads it back."""

    name: str = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    momentum: float = 0.0
    decay_from_dimensions: int = 0
    """Weight decay only for parameters of at least so many dimensions; 2 spares biases and norms (two groups)."""


class Workload(ABC):
    """What is trained. Instances live inside ranks only; heavy things (model, data) are made when asked for.

    Attributes:
        tier: The size that was asked for.
        dataset: The data set that was chosen; ``generated`` for the synthetic twin.
        samples: Number of training samples; global indices are ``0 .. samples - 1``.
        optimiser: Settings that every strategy applies.
        global_batch: Samples of one optimiser step (a suite may say another; built-in ones state it per tier).
        data: Whether the samples are ``real`` or ``synthetic``: printed beside every figure.
    """

    samples: int
    optimiser: OptimiserSettings = OptimiserSettings()
    global_batch: int = 32
    data: Literal["real", "synthetic"] = "synthetic"

    def __init__(self, tier: Tier = "cpu", dataset: str = "own") -> None:
        self.tier = tier
        self.dataset = dataset

    @abstractmethod
    def build(self) -> Any:
        """Return the model (``torch.nn.Module``) with whatever initial values; the harness sets them afterwards."""

    def layers(self, model: Any) -> list[Any]:  # noqa: ARG002 - a model without repeated layers has none
        """Return the repeated submodules, the natural units for sharding and recomputation."""
        return []

    @abstractmethod
    def batch(self, indices: SampleIndices) -> Any:
        """Return the samples with these global indices as a tuple of CPU tensors; the first dimension is the sample."""

    @abstractmethod
    def loss(self, model: Any, batch: Any) -> Any:
        """Return the mean loss of a batch as a scalar tensor; ``model`` is called like the built one."""

    def stated_flops_per_sample(self) -> float | None:
        """Return the FLOPs of training on one sample where they cannot be counted; None to have them counted."""
        return None

    def test_batch(self) -> Any | None:
        """Return held-out samples in the form of ``batch``, or None when there are none."""
        return None

    def correct(self, model: Any, batch: Any) -> int:
        """Return how many samples of a batch the model classifies right. Raises NotImplementedError without one."""
        raise NotImplementedError


def load_workload(name: str, tier: Tier, dataset: str) -> Workload:
    """Import and make a workload, registered or ``module:Class``. Called inside ranks and checks only."""
    implementation = name if is_custom(name) else workload_named(name).implementation
    module, _, attribute = implementation.partition(":")
    workload: Workload = getattr(import_module(module), attribute)(tier, dataset)
    return workload
