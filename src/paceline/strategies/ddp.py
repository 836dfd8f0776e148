"""PyTorch DistributedDataParallel: the whole state on every rank, gradients averaged in buckets."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

from paceline.spec.conditions import Policy
from paceline.strategies.contract import LossFunction
from paceline.strategies.torch_strategy import TorchStrategy, build_optimiser
from paceline.workloads.contract import OptimiserSettings


class DDP(TorchStrategy):
    """Gradients are averaged during the backward pass of the last micro-batch only."""

    def wrap(self, build: Callable[[], Any], loss: LossFunction, optimiser: OptimiserSettings) -> None:
        """Build the model on the device and wrap it.

        Under ``normalised`` buffers are not broadcast at every forward, as no other strategy does that.
        """
        settings: dict[str, Any] = dict(self.job.cell.settings)
        if self.job.conditions.policy is Policy.NORMALISED:
            settings.setdefault("broadcast_buffers", False)
        self.model = torch.nn.parallel.DistributedDataParallel(build().to(self.device), **settings)
        self.optimiser = build_optimiser(self.model.parameters(), optimiser, self.job)
        self.loss = loss

    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:
        """Accumulate locally, synchronise on the last micro-batch (forward included, as DDP asks)."""
        with nullcontext() if last else self.model.no_sync():
            return super().backward(batch, last=last)
