"""Settings read back from live models and optimisers of torch, and digests of weights."""

import hashlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules.dropout import _DropoutNd


def dtype_name(tensor: torch.Tensor) -> str:
    """Return the name of a tensor's dtype without its module, e.g. ``float32``."""
    return str(tensor.dtype).removeprefix("torch.")


def state_dtype(optimiser: Any) -> str:
    """Return the dtype of the optimiser's per-element state, or ``none`` before the first step or without state."""
    for state in optimiser.state.values():
        for value in state.values():
            if isinstance(value, torch.Tensor) and value.dim() > 0:
                return dtype_name(value)
    return "none"


def counted_steps(optimiser: Any) -> int | None:
    """Return how many steps the optimiser has counted for its first parameter; None where it keeps no count."""
    counts = (state["step"] for state in optimiser.state.values() if "step" in state)
    first = next(counts, None)
    return None if first is None else int(first)


def qualified_name(thing: Any) -> str:
    """Return module and class of an object, e.g. ``torch.optim.adamw.AdamW``."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def optimiser_settings(optimiser: Any) -> dict[str, Any]:
    """Return the settings in force of the first parameter group, as far as JSON can hold them."""
    plain = (int, float, bool, str, tuple, list, type(None))
    return {k: v for k, v in sorted(optimiser.param_groups[0].items()) if k != "params" and isinstance(v, plain)}


def active_dropout(model: torch.nn.Module) -> float:
    """Return the largest probability of a dropout module that is in training mode; zero where there is none."""
    active = (m.p for m in model.modules() if isinstance(m, _DropoutNd) and m.training)
    return max(active, default=0.0)


def weights_digest(named: Iterator[tuple[str, torch.Tensor]]) -> str:
    """Return a hex digest over (name, digest of fp32 values) in order of name; a wrapper's 'module.' is left out.

    Each tensor is digested as it arrives, so that parameters gathered one at a time are never held together.
    """
    digests = {}
    for name, tensor in named:
        values = tensor.detach().cpu().float().contiguous().view(torch.uint8).numpy()
        digests[name.removeprefix("module.")] = hashlib.blake2b(values.tobytes(), digest_size=16).hexdigest()
    return hashlib.blake2b(repr(sorted(digests.items())).encode(), digest_size=16).hexdigest()
