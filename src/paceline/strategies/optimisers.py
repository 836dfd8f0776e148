"""The optimiser of every strategy on PyTorch, built from the workload's settings."""

from typing import Any

import torch

from paceline.schema.conditions import Policy
from paceline.schema.trial import Job
from paceline.workloads.contract import OptimiserSettings


def build_optimiser(
    parameters: list[torch.nn.Parameter], settings: OptimiserSettings, job: Job
) -> torch.optim.Optimizer:
    """Return the optimiser that every strategy uses; ``normalised`` conditions fix its implementation as well.

    Raises ValueError for an optimiser other than ``adamw`` and ``sgd``, or when every parameter is frozen.
    """
    if not parameters:
        raise ValueError("every parameter is frozen: there is nothing to train")
    implementation: dict[str, Any] = {}
    if job.conditions.policy is Policy.NORMALISED:
        implementation = {"foreach": False, "fused": False}
    groups = _parameter_groups(parameters, settings)
    if settings.name == "adamw":
        return torch.optim.AdamW(
            groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, **implementation
        )
    if settings.name == "sgd":
        return torch.optim.SGD(groups, lr=settings.learning_rate, momentum=settings.momentum, **implementation)
    raise ValueError(f"unknown optimiser {settings.name!r}: use 'adamw' or 'sgd'")


def _parameter_groups(parameters: list[torch.nn.Parameter], settings: OptimiserSettings) -> list[dict[str, Any]]:
    """Return one parameter group, or two where weight decay is for some parameters only."""
    decayed = [p for p in parameters if _dimensions(p) >= settings.decay_from_dimensions]
    undecayed = [p for p in parameters if _dimensions(p) < settings.decay_from_dimensions]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": undecayed, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def _dimensions(parameter: torch.nn.Parameter) -> int:
    """Return the number of dimensions of the whole parameter; ZeRO-3 keeps the whole shape beside its partition."""
    return len(getattr(parameter, "ds_shape", parameter.shape))
