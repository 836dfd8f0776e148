"""How a strategy gets its model: whole and initialised, or deferred, so that no rank ever holds the whole of it."""

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
    """The workload's model for one job, with initial values that depend on (seed, name, shape) only."""

    def __init__(self, workload: Workload, job: Job) -> None:
        self._workload = workload
        self._job = job

    def initial(self, name: str, shape: torch.Size) -> torch.Tensor:
        """Return the fp32 CPU tensor that a parameter starts from; rounded to bf16 for all under ``bf16-master``."""
        value = initial_value(name, shape, self._job.seed)
        return value.bfloat16().float() if self._job.cell.recipe is Recipe.BF16_MASTER else value

    def whole(self) -> nn.Module:
        """Return the model on the CPU with its initial values, its variant applied."""
        model = self.bare()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(self.initial(name, parameter.shape))
        return model

    def deferred(self) -> nn.Module:
        """Return the model with its parameters on the meta device, and its buffers real."""
        with parameters_on_meta():
            return self.bare()

    def bare(self) -> nn.Module:
        """Return the model as the workload builds it, with the variant's recomputation and compilation."""
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
        """Return the repeated submodules."""
        return self._workload.layers(model)


@contextmanager
def parameters_on_meta() -> Iterator[None]:
    """Move every parameter to the meta device as soon as a module registers it: one at a time is ever real.

    Buffers stay real, because modules compute some of them (rotary frequencies) when they are made.
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
    from torch.utils.checkpoint import checkpoint

    forward = layer.forward

    def recomputed(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    layer.forward = recomputed
