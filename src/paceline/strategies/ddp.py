"""PyTorch DistributedDataParallel: the whole state on every rank, gradients averaged in buckets."""

from contextlib import nullcontext
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from paceline.schema.conditions import Policy
from paceline.schema.suite import Recipe
from paceline.strategies.blueprint import Blueprint
from paceline.strategies.precision import parameters_to_bf16
from paceline.strategies.torch_strategy import TorchStrategy
from paceline.workloads.contract import Workload


class DDP(TorchStrategy):
    """Gradients are averaged during the backward pass of a step's last micro-batch only, in the weights' dtype."""

    def wrap(self, workload: Workload) -> None:
        """Build the model on the device and wrap it.

        Under ``normalised`` buffers are not broadcast at every forward pass, because no other strategy does it.
        """
        settings: dict[str, Any] = dict(self.job.cell.variant.settings)
        if self.job.conditions.policy is Policy.NORMALISED:
            settings.setdefault("broadcast_buffers", False)
        model = Blueprint(workload, self.job).whole().to(self.device)
        if self.recipe is Recipe.BF16_MASTER:
            parameters_to_bf16(model)
        self.take_state(DistributedDataParallel(model, **settings), workload)

    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:
        """Accumulate locally, synchronise on the last micro-batch; ``no_sync`` must span the forward pass too."""
        with nullcontext() if last else self.model.no_sync():
            return super().backward(batch, last=last)
