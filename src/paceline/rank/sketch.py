"""Random projections of tensors: small, linear, and the same wherever a tensor lies, however it is sharded.

Being linear, the sketch of an update is the difference of two sketches, and a gradient that is a sum of others has the
sum of their sketches: engines are compared by a few numbers a tensor instead of by the tensors. A count sketch
(Charikar et al. 2002): each element is added to one of ``SKETCH_WIDTH`` sums, with a sign, as its position says.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from paceline.schema.proof import SKETCH_WIDTH

_CHUNK = 1 << 22
_MULTIPLIER = -7_046_029_254_386_353_131
"""The odd 64-bit constant 2^64 / golden ratio, as a signed number (Fibonacci hashing)."""


def sketch(name: str, tensor: torch.Tensor) -> NDArray[np.float64]:
    """Return the sketch of a whole tensor, shape (SKETCH_WIDTH,), in float64."""
    flat = tensor.detach().reshape(-1)
    sums = torch.zeros(SKETCH_WIDTH, dtype=torch.float64, device=flat.device)
    if len(flat) <= SKETCH_WIDTH:
        sums[: len(flat)] = flat.double()
        return sums.cpu().numpy()
    salt = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "big")
    for start in range(0, len(flat), _CHUNK):
        values = flat[start : start + _CHUNK].double()
        mixed = (torch.arange(start, start + len(values), device=flat.device) + salt) * _MULTIPLIER
        mixed ^= mixed >> 29
        mixed *= _MULTIPLIER
        sign = ((mixed >> 40) & 1).double().mul_(2).sub_(1)
        sums.index_add_(0, (mixed >> 20) & (SKETCH_WIDTH - 1), values.mul_(sign))
    return sums.cpu().numpy()


def sketches(named: Iterable[tuple[str, torch.Tensor]]) -> tuple[list[str], NDArray[np.float64]]:
    """Return names in order and their sketches, shape (tensors, SKETCH_WIDTH). Wrappers' 'module.' is left out."""
    found = {name.removeprefix("module."): sketch(name.removeprefix("module."), tensor) for name, tensor in named}
    names = sorted(found)
    return names, np.stack([found[name] for name in names])
