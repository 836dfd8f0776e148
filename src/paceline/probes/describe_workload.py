"""``python -m paceline.probes.describe_workload NAME TIER DATASET``: build a workload's model once and describe it.

A user's own class (``module:Class``) is checked as well. Prints one JSON line; what is wrong goes to standard error as
one line, with exit status 1.
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


def describe(name: str, tier: Tier, dataset: str) -> dict[str, Any]:
    """Return what the conductor must know. Raises RequestError that names what a user's class lacks."""
    custom = is_custom(name)
    if custom:
        _check_class(name)
    workload = load_workload(name, tier, dataset)
    summary = _check(workload) if custom else ""
    flops, source = _flops(workload)
    return {
        "data": workload.data,
        "global_batch": workload.global_batch,
        "summary": summary,
        "flops_per_sample_training": flops,
        "flops_source": source,
    }


def _check_class(name: str) -> None:
    module, _, attribute = name.partition(":")
    found = getattr(import_module(module), attribute, None)
    if not (isinstance(found, type) and issubclass(found, Workload)):
        raise RequestError(f"{attribute} in {module} is not a subclass of paceline.workloads.contract.Workload")


def _check(workload: Workload) -> str:
    """Try one batch and one backward pass; return what there is to train."""
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
        said = str(error) if isinstance(error, RequestError) else f"{type(error).__name__}: {error}"
        print(said, file=sys.stderr)
        sys.exit(1)
