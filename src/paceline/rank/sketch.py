"""Random projections of tensors: small, linear, and independent of device and sharding.

Because sketches are linear, the sketch of an update is the difference of two sketches, and the sketch of a sum of
gradients is the sum of their sketches: engines are compared by a few numbers a tensor instead of by the tensors. The
method is a count sketch (Charikar et al. 2002): an element is added to one of ``SKETCH_WIDTH`` sums, and its position
decides to which sum and with which sign.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from paceline.schema.proof import SKETCH_WIDTH

_CHUNK = 1 << 22
"""Elements that are hashed at once, which bounds the memory that a sketch takes."""
_MULTIPLIER = -7_046_029_254_386_353_131
"""The odd 64-bit constant 2^64 / golden ratio, as a signed number (Fibonacci hashing)."""


def sketch(name: str, tensor: torch.Tensor) -> NDArray[np.float64]:
    """Return the sketch of a whole tensor, shape (SKETCH_WIDTH,), in float64; a smaller tensor is kept as it is."""
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
    """Return sorted names and their sketches, shape (tensors, SKETCH_WIDTH). A wrapper's 'module.' is left out."""
    plain_names = ((name.removeprefix("module."), tensor) for name, tensor in named)
    by_name = {name: sketch(name, tensor) for name, tensor in plain_names}
    names = sorted(by_name)
    return names, np.stack([by_name[name] for name in names])
