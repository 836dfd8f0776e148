"""LeNet-5 on real handwritten digits: the classic light load (LeCun et al. 1998, Proc. IEEE 86(11), section II.B)."""

from typing import Any

import torch
from torch import nn

from paceline.workloads.classification import Classification
from paceline.workloads.contract import OptimiserSettings, SampleIndices
from paceline.workloads.digits import TRAINING_SAMPLES, digits

SIZE = 32
"""Pixels a side, as in the original."""


class LeNet5(nn.Module):
    """The form in use today: full connections in the second convolution, tanh, average pooling; 61,706 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 5)
        self.c3 = nn.Conv2d(6, 16, 5)
        self.c5 = nn.Linear(16 * 5 * 5, 120)
        self.f6 = nn.Linear(120, 84)
        self.output = nn.Linear(84, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return scores (n, 10) of images (n, 1, 32, 32)."""
        pool = nn.functional.avg_pool2d
        x = pool(torch.tanh(self.c1(images)), 2)
        x = pool(torch.tanh(self.c3(x)), 2).flatten(1)
        x = torch.tanh(self.c5(x))
        x = torch.tanh(self.f6(x))
        scores: torch.Tensor = self.output(x)
        return scores


class LeNet5Workload(Classification):
    """Both tiers train the same model on the same 1,437 digits; the gpu tier takes larger batches."""

    samples = TRAINING_SAMPLES
    optimiser = OptimiserSettings(name="adamw", learning_rate=2e-3)

    def build(self) -> LeNet5:
        """Return a new LeNet-5."""
        return LeNet5()

    def batch(self, indices: SampleIndices) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images (n, 1, 32, 32) and labels (n,)."""
        images, labels = digits(SIZE)
        chosen = torch.from_numpy(indices)
        return images[chosen], labels[chosen]

    def test_batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the 360 held-out digits."""
        images, labels = digits(SIZE)
        return images[TRAINING_SAMPLES:], labels[TRAINING_SAMPLES:]

    def logits(self, model: Any, images: torch.Tensor) -> torch.Tensor:
        """Return class scores (n, 10)."""
        scores: torch.Tensor = model(images)
        return scores
