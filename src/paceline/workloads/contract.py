"""The contract of a workload: model, data, loss and optimiser settings, without any distributed framework."""

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
    """The optimiser and its settings; every strategy builds its optimiser from them and reads it back."""

    name: str = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    momentum: float = 0.0
    decay_from_dimensions: int = 0
    """Fewest dimensions of a parameter with weight decay; 2 leaves out biases and norms (two parameter groups)."""


class Workload(ABC):
    """What is trained. Instances live inside ranks only; model and data are made when a method asks for them.

    A complete workload, which a suite names as ``my_module:Line``::

        import torch
        from paceline.workloads.contract import OptimiserSettings, Workload

        class Line(Workload):
            samples = 1024
            optimiser = OptimiserSettings(name="sgd", learning_rate=0.1)

            def build(self):
                return torch.nn.Linear(1, 1)

            def batch(self, indices):
                x = torch.from_numpy(indices).float().unsqueeze(1) / self.samples
                return x, 3 * x + 1

            def loss(self, model, batch):
                return torch.nn.functional.mse_loss(model(batch[0]), batch[1])

    Attributes:
        tier: The requested size, ``cpu`` or ``gpu``.
        dataset: Name of the data set to train on; ``generated`` for synthetic data of the same shape.
        samples: Number of training samples; global indices are ``0 .. samples - 1``.
        optimiser: Settings that every strategy applies.
        global_batch: Samples of one optimiser step; a suite may set another number.
        data: Whether the samples are ``real`` or ``synthetic``; printed beside every figure.
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
        """Return the model (``torch.nn.Module``) with any initial values; the harness sets its own afterwards."""

    def layers(self, model: Any) -> list[Any]:  # noqa: ARG002 - a model without repeated layers has none
        """Return the repeated submodules, the natural units for sharding and recomputation."""
        return []

    @abstractmethod
    def batch(self, indices: SampleIndices) -> Any:
        """Return the samples with these global indices as a tuple of CPU tensors; the first dimension is the sample."""

    @abstractmethod
    def loss(self, model: Any, batch: Any) -> Any:
        """Return the mean loss of a batch as a scalar tensor; ``model`` may be wrapped, and is called as built."""

    def stated_flops_per_sample(self) -> float | None:
        """Return the FLOPs of training on one sample where Paceline cannot count them; None to have them counted."""
        return None

    def test_batch(self) -> Any | None:
        """Return held-out samples in the form that ``batch`` returns, or None for a workload without any."""
        return None

    def correct(self, model: Any, batch: Any) -> int:
        """Return how many samples of a batch the model classifies right.

        Raises NotImplementedError for a workload that is no classification.
        """
        raise NotImplementedError


def load_workload(name: str, tier: Tier, dataset: str) -> Workload:
    """Import and instantiate a workload, registered or ``module:Class``. Called inside ranks and probes only."""
    implementation = name if is_custom(name) else workload_named(name).implementation
    module, _, attribute = implementation.partition(":")
    workload: Workload = getattr(import_module(module), attribute)(tier, dataset)
    return workload
