"""``python -m paceline.drivers.check_workload MODULE:CLASS``: import a user's workload, try it once, describe it.

Prints one JSON line. What is wrong goes to standard error as one line, with exit status 1.
"""

import json
import sys
from importlib import import_module
from typing import Any

import numpy as np
import torch

from paceline.spec.errors import RequestError
from paceline.workloads.contract import Workload, load_workload
from paceline.workloads.flops import count_training_flops

TRIED_SAMPLES = 2


def check(name: str) -> dict[str, Any]:
    """Return what the conductor must know. Raises RequestError that names what the class lacks."""
    module, _, attribute = name.partition(":")
    found = getattr(import_module(module), attribute, None)
    if not (isinstance(found, type) and issubclass(found, Workload)):
        raise RequestError(f"{attribute} in {module} is not a subclass of paceline.workloads.contract.Workload")
    workload = load_workload(name, "cpu", "own")
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
    return {
        "data": workload.data,
        "global_batch": workload.global_batch,
        "flops_per_sample": _flops(workload),
        "summary": f"{parameters:,} parameters in {len(trained)} trained tensors",
    }


def _flops(workload: Workload) -> float | None:
    try:
        return workload.stated_flops_per_sample() or count_training_flops(workload)
    except Exception:  # only estimates of time need it here; a rank says why it could not count
        return None


if __name__ == "__main__":
    try:
        print(json.dumps(check(sys.argv[1])))
    except Exception as error:
        print(
            f"{type(error).__name__}: {error}" if not isinstance(error, RequestError) else str(error), file=sys.stderr
        )
        sys.exit(1)
