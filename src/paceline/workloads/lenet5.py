"""LeNet-5 on real images: the classic light load (LeCun et al. 1998, Proc. IEEE 86(11), section II.B)."""

from typing import Any

import torch
from torch import nn

from paceline.workloads.classification import Classification
from paceline.workloads.contract import OptimiserSettings


class LeNet5(nn.Module):
    """LeNet-5 as it is built today: a fully connected second convolution, tanh, average pooling; 61,706 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 5)
        self.c3 = nn.Conv2d(6, 16, 5)
        self.c5 = nn.Linear(16 * 5 * 5, 120)
        self.f6 = nn.Linear(120, 84)
        self.output = nn.Linear(84, 10)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return scores (n, 10) of images (n, 1, 32, 32)."""
        pool = nn.functional.avg_pool2d
        x = pool(torch.tanh(self.c1(pixels)), 2)
        x = pool(torch.tanh(self.c3(x)), 2).flatten(1)
        x = torch.tanh(self.c5(x))
        x = torch.tanh(self.f6(x))
        scores: torch.Tensor = self.output(x)
        return scores


class LeNet5Workload(Classification):
    """Both tiers train the same model on images of 32x32x1; the gpu tier takes larger batches."""

    image_size = {"cpu": 32, "gpu": 32}
    channels = 1
    classes = {"cpu": 10, "gpu": 10}
    optimiser = OptimiserSettings(name="adamw", learning_rate=2e-3)

    def build(self) -> LeNet5:
        """Return a new LeNet-5."""
        return LeNet5()

    def logits(self, model: Any, pixels: torch.Tensor) -> torch.Tensor:
        """Return class scores (n, 10)."""
        scores: torch.Tensor = model(pixels)
        return scores
