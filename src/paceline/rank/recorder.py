"""Writes a rank's events as JSON lines, at phase edges only, so that nothing is written inside a timed window."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

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
        """Append one event; ``value`` is a pydantic model or anything that JSON can hold."""
        plain = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        self._file.write(json.dumps({"event": event, "value": plain}) + "\n")

    def write_steps(self, bounds: NDArray[np.int64]) -> None:
        """Keep the raw step boundaries in ns, shape (steps, 2)."""
        with _complete_or_absent(self._steps) as file:
            np.save(file, bounds)

    def write_arrays(self, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        """Keep a proof's arrays in ``rank-<r>-proof.npz``."""
        with _complete_or_absent(self._proof) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the file of events."""
        self._file.close()


@contextmanager
def _complete_or_absent(path: Path) -> Iterator[BinaryIO]:
    """Yield a file beside ``path`` that is renamed to it at the end: a rank killed meanwhile leaves no half file."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        yield file
    partial.replace(path)
