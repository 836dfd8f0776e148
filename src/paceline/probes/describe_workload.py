"""``python -m paceline.probes.describe_workload NAME TIER DATASET``: build a workload's model once and describe it.

A custom class (``module:Class``) is checked as well. The description is printed as one JSON line. An error is printed
on standard error as one line, with exit status 1.
"""

import json
import sys
from importlib import import_module
from typing import Any

import numpy as np

from paceline.errors import RequestError
from paceline.workloads.contract import Workload, load_workload
from paceline.workloads.descriptor import Tier, is_custom

TRIED_SAMPLES = 2
"""Samples in the batch on which a custom class is tried."""


def describe(name: str, tier: Tier, dataset: str) -> dict[str, Any]:
    """Return the fields of ``WorkloadFacts``. Raises RequestError that says what is wrong with a custom class."""
    custom = is_custom(name)
    if custom:
        _require_workload_class(name)
    workload = load_workload(name, tier, dataset)
    summary = _try_one_batch(workload) if custom else ""
    flops, source = _flops(workload)
    return {
        "data": workload.data,
        "global_batch": workload.global_batch,
        "summary": summary,
        "flops_per_sample_training": flops,
        "flops_source": source,
    }


def _require_workload_class(name: str) -> None:
    module, _, attribute = name.partition(":")
    member = getattr(import_module(module), attribute, None)
    if not (isinstance(member, type) and issubclass(member, Workload)):
        raise RequestError(f"{attribute} in {module} is not a subclass of paceline.workloads.contract.Workload")


def _try_one_batch(workload: Workload) -> str:
    """Build the model and train on one batch; return the size of the model in words.

    Raises RequestError when a method does not do what ``Workload`` demands.
    """
    import torch

    if not isinstance(getattr(workload, "samples", None), int) or workload.samples < workload.global_batch:
        raise RequestError(f"samples must be a whole number of at least global_batch ({workload.global_batch})")
    model = workload.build()
    if not isinstance(model, torch.nn.Module):
        raise RequestError(f"build() returned {type(model).__name__}, not a torch.nn.Module")
    batch = workload.batch(np.arange(TRIED_SAMPLES))
    if not isinstance(batch, tuple) or not all(isinstance(t, torch.Tensor) and len(t) == TRIED_SAMPLES for t in batch):
        raise RequestError("batch(indices) must return a tuple of tensors whose first dimension is len(indices)")
    loss = workload.loss(model, batch)
    if not isinstance(loss, torch.Tensor) or loss.dim() != 0 or not loss.requires_grad:
        raise RequestError("loss(model, batch) must return a scalar tensor with a gradient: the batch's mean loss")
    loss.backward()  # type: ignore[no-untyped-call]
    trained = [n for n, p in model.named_parameters() if p.requires_grad]
    unused = [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]
    if unused:
        raise RequestError(f"parameters without a gradient: {', '.join(unused[:3])}: freeze them (requires_grad=False)")
    parameters = sum(p.numel() for p in model.parameters())
    return f"{parameters:,} parameters in {len(trained)} trained tensors"


def _flops(workload: Workload) -> tuple[float | None, str]:
    """Return FLOPs of training on one sample, or None, and where the figure comes from."""
    stated = workload.stated_flops_per_sample()
    if stated is not None:
        return stated, "stated by the workload"
    from paceline.workloads.flops import FLOPS_SOURCE, count_training_flops

    try:
        return count_training_flops(workload), FLOPS_SOURCE
    except Exception as error:  # a model that cannot be traced can still be trained
        return None, f"not counted: {type(error).__name__}: {error}"


if __name__ == "__main__":
    name, tier, dataset = sys.argv[1:]
    try:
        print(json.dumps(describe(name, tier, dataset)))  # type: ignore[arg-type]
    except Exception as error:
        message = str(error) if isinstance(error, RequestError) else f"{type(error).__name__}: {error}"
        print(message, file=sys.stderr)
        sys.exit(1)
