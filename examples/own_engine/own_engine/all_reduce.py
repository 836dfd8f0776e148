"""The strategy itself, loaded inside ranks only."""

from typing import Any

import torch
import torch.distributed as dist

from paceline.strategies.blueprint import Blueprint
from paceline.strategies.torch_strategy import TorchStrategy
from paceline.workloads.contract import Workload


class AllReduce(TorchStrategy):
    """The whole state on every rank; gradients are averaged tensor by tensor after the backward pass."""

    def wrap(self, workload: Workload) -> None:
        self.take_state(Blueprint(workload, self.job).whole().to(self.device), workload)

    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:
        share = super().backward(batch, last=last)
        if last:
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= self.membership.world_size
        return share
