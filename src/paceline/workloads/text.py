"""Bytes of a real text that every machine with Python has: the sources of its standard library."""

import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from paceline.workloads.contract import SampleIndices
from paceline.workloads.datasets import GENERATED

VOCABULARY = 256
_TEXT_BYTES = 8 * 2**20
_GENERATED_SAMPLES = 4096
_POOL = 64


class Bytes:
    """Sequences of ``length + 1`` bytes, int64, that do not overlap: ``length`` inputs, each followed by its target."""

    def __init__(self, dataset: str, length: int) -> None:
        if dataset == GENERATED:
            noise = torch.Generator().manual_seed(0)
            self._sequences = torch.randint(VOCABULARY, (_POOL, length + 1), generator=noise)
            self.samples = _GENERATED_SAMPLES
        else:
            self.samples = len(standard_library()) // (length + 1)
            whole = standard_library()[: self.samples * (length + 1)]
            self._sequences = torch.from_numpy(whole.reshape(self.samples, length + 1).copy())

    def batch(self, indices: SampleIndices) -> tuple[torch.Tensor]:
        """Return sequences, shape (n, length + 1)."""
        return (self._sequences[torch.from_numpy(indices % len(self._sequences))].long(),)


@cache
def standard_library() -> NDArray[np.uint8]:
    """Return the bytes of the standard library's modules in order of their paths, uint8, at most 8 MiB."""
    folder = Path(sysconfig.get_path("stdlib"))
    text, size = [], 0
    for path in sorted(p for p in folder.rglob("*.py") if "site-packages" not in p.parts):
        data = path.read_bytes()
        text.append(data)
        size += len(data)
        if size >= _TEXT_BYTES:
            break
    return np.frombuffer(b"".join(text)[:_TEXT_BYTES], dtype=np.uint8)
