"""PyTorch FSDP2 (``fully_shard``): parameters, gradients and optimiser state sharded over ranks, layer by layer."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from paceline.schema.records import LiveSettings
from paceline.schema.suite import Recipe
from paceline.strategies.blueprint import Blueprint
from paceline.strategies.optimisers import build_optimiser
from paceline.strategies.torch_strategy import TorchStrategy
from paceline.workloads.contract import Workload

_PRECISION = {
    Recipe.FP32: MixedPrecisionPolicy(),
    Recipe.AMP: MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
    # The sharded parameters themselves are the fp32 masters; gathered parameters are bf16.
    Recipe.BF16_MASTER: MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16),
}


class FSDP2(TorchStrategy):
    """The model is never whole on a rank: it is built on the meta device, sharded, then filled shard by shard."""

    def wrap(self, workload: Workload) -> None:
        """Shard the workload's layers one by one, then the rest of the model, then set the initial values."""
        mesh = init_device_mesh(self.device.type, (self.membership.world_size,))
        blueprint = Blueprint(workload, self.job)
        model = blueprint.deferred()
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        options = {"mesh": mesh, "mp_policy": _PRECISION[self.recipe], **self.job.cell.variant.settings}
        for module in (*blueprint.layers(model), model):
            fully_shard(module, **options)
        model.to_empty(device=self.device)
        _fill(model, blueprint, buffers)
        self.model, self._loss = model, workload.loss
        trained = [p for p in model.parameters() if p.requires_grad]
        self.optimiser = build_optimiser(trained, workload.optimiser, self.job)

    def loss(self, batch: Any) -> torch.Tensor:
        """Return the mean loss; FSDP2's own policy sets the precision, not autocast."""
        mean: torch.Tensor = self._loss(self.model, batch)
        return mean

    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:
        """Accumulate locally, reduce gradients over ranks on the last micro-batch only."""
        self.model.set_requires_gradient_sync(last)
        return super().backward(batch, last=last)

    def full_parameters(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield every parameter gathered, one at a time (collective)."""
        for name, parameter in self.model.named_parameters():
            yield name, parameter.full_tensor() if isinstance(parameter, DTensor) else parameter

    def live(self) -> LiveSettings:
        """Return the settings in force; dtypes are those of FSDP2's policy, sizes those of the local shards."""
        settings = super().live()
        policy = _PRECISION[self.recipe]
        parameter_dtype = settings.parameter_dtype
        local = [p.to_local() for p in self.model.parameters() if isinstance(p, DTensor)]
        return settings.model_copy(
            update={
                "compute_dtype": _policy_dtype(policy.param_dtype, parameter_dtype),
                "reduction_dtype": _policy_dtype(policy.reduce_dtype, parameter_dtype),
                "optimiser_parameters_local": sum(shard.numel() for shard in local),
            }
        )


def _fill(model: nn.Module, blueprint: Blueprint, buffers: dict[str, torch.Tensor]) -> None:
    """Put initial values into the local shards, and restore the buffers, which ``to_empty`` has emptied as well."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            assert isinstance(parameter, DTensor), f"{name} was not sharded"
            value = blueprint.initial(name, parameter.shape).to(parameter.device)
            # Every rank draws the same value and keeps its own part: nothing is sent.
            shard = distribute_tensor(value, parameter.device_mesh, parameter.placements, src_data_rank=None)
            parameter.to_local().copy_(shard.to_local())
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])


def _policy_dtype(dtype: torch.dtype | None, default: str) -> str:
    return str(dtype).removeprefix("torch.") if dtype is not None else default
