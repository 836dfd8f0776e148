"""Plain PyTorch on one rank."""

from collections.abc import Callable
from typing import Any

from paceline.strategies.contract import LossFunction
from paceline.strategies.torch_strategy import SoloTorchStrategy, build_optimiser
from paceline.workloads.contract import OptimiserSettings


class Single(SoloTorchStrategy):
    """The model as it is, its optimiser, no communication."""

    def wrap(self, build: Callable[[], Any], loss: LossFunction, optimiser: OptimiserSettings) -> None:
        """Build the model on the device."""
        self.model = build().to(self.device)
        self.optimiser = build_optimiser(self.model.parameters(), optimiser, self.job)
        self.loss = loss
