"""How a strategy builds its model: whole with initial values, or deferred, so that no rank ever holds all of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from paceline.schema.suite import Recipe
from paceline.schema.trial import Job
from paceline.workloads.contract import Workload
from paceline.workloads.initial import initial_value


class Blueprint:
    """Builds the workload's model for one job; initial values depend on (seed, parameter name, shape) only."""

    def __init__(self, workload: Workload, job: Job) -> None:
        self._workload = workload
        self._job = job

    def initial(self, name: str, shape: torch.Size) -> torch.Tensor:
        """Return the fp32 CPU tensor that a parameter starts from; ``bf16-master`` rounds its values to bf16."""
        value = initial_value(name, shape, self._job.seed)
        return value.bfloat16().float() if self._job.cell.recipe is Recipe.BF16_MASTER else value

    def whole(self) -> nn.Module:
        """Return the model on the CPU with its initial values, the variant applied."""
        model = self.bare()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(self.initial(name, parameter.shape))
        return model

    def deferred(self) -> nn.Module:
        """Return the model with its parameters on the meta device (without memory) and real buffers."""
        with parameters_on_meta():
            return self.bare()

    def bare(self) -> nn.Module:
        """Return the model as the workload builds it, with the variant's recomputation and compilation.

        Raises ValueError where layers are to be recomputed and the workload names none.
        """
        model: nn.Module = self._workload.build()
        variant = self._job.cell.variant
        if variant.recompute:
            layers = self._workload.layers(model)
            if not layers:
                raise ValueError(f"{self._job.cell.workload} names no layers, so there is nothing to recompute")
            for layer in layers:
                _recompute(layer)
        if variant.compile:
            model.compile()
        return model

    def layers(self, model: nn.Module) -> list[nn.Module]:
        """Return the repeated submodules that the workload names."""
        return self._workload.layers(model)


@contextmanager
def parameters_on_meta() -> Iterator[None]:
    """Move every parameter to the meta device as soon as a module registers it: at most one at a time uses memory.

    Buffers stay real, because modules compute the values of some (e.g. rotary frequencies) when they are built.
    """
    original = nn.Module.register_parameter

    def register(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is not None and not parameter.is_meta:
            parameter = nn.Parameter(parameter.to("meta"), requires_grad=parameter.requires_grad)
        original(module, name, parameter)

    nn.Module.register_parameter = register  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        nn.Module.register_parameter = original  # type: ignore[method-assign]


def _recompute(layer: nn.Module) -> None:
    """Recompute the layer's activations in the backward pass instead of keeping them."""
    from torch.utils.checkpoint import checkpoint

    forward = layer.forward

    def recomputed(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    layer.forward = recomputed
