"""Writes a rank's events as JSON lines, at phase edges only, so that nothing is written inside a timed window."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Recorder:
    """One file a rank: ``rank-<r>.jsonl``; each line is ``{"event": field name, "value": ...}``."""

    def __init__(self, out_dir: str, rank: int) -> None:
        folder = Path(out_dir)
        folder.mkdir(parents=True, exist_ok=True)
        self._steps = folder / f"rank-{rank}-steps.npy"
        self._proof = folder / f"rank-{rank}-proof.npz"
        self._file = (folder / f"rank-{rank}.jsonl").open("a", buffering=1)

    def write(self, event: str, value: Any) -> None:
        """Append one event: ``value`` is what JSON can hold, or a model."""
        plain = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        self._file.write(json.dumps({"event": event, "value": plain}) + "\n")

    def write_steps(self, bounds: NDArray[np.int64]) -> None:
        """Keep the raw step boundaries in ns, shape (steps, 2)."""
        beside = self._steps.with_name(f".{self._steps.name}.partial")
        with beside.open("wb") as file:
            np.save(file, bounds)
        beside.replace(self._steps)  # a rank that is killed here leaves none rather than half of one

    def write_arrays(self, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        """Keep a proof's arrays in ``rank-<r>-proof.npz``."""
        beside = self._steps.with_name(f".{self._proof.name}.partial")
        with beside.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        beside.replace(self._proof)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
