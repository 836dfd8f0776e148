"""Reading what ranks and drivers wrote: their event lines and arrays, as typed records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from paceline.errors import RecordError
from paceline.schema.records import RankRecord

_LISTS = {"phase": "phases", "memory": "memory", "activity": "activity", "proof": "proof", "end_alone": "end_alone"}
"""Event that comes several times to the field of ``RankRecord`` that collects its values."""

_INITIAL_FIELDS = {**{field: [] for field in _LISTS.values()}, "cores": [], "reused_process": False}
"""Fields of a rank that has not written anything yet."""


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON-lines file, none if it does not exist. A last line that a kill cut off is left out.

    Raises RecordError for any other line that is not JSON.
    """
    if not path.exists():
        return
    lines = path.read_text().split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):
                return
            raise RecordError(f"{path}:{number} is not JSON: {error}") from error


def read_rank(path: Path) -> RankRecord | None:
    """Return the record of ``rank-<r>.jsonl``, or None when the rank died before it could write anything.

    Raises RecordError when the lines do not make a record.
    """
    fields: dict[str, Any] = {"rank": int(path.stem.removeprefix("rank-")), **_initial_fields()}
    for line in json_lines(path):
        event, value = line["event"], line["value"]
        if event in _LISTS:
            fields[_LISTS[event]].append(value)
        else:
            fields[event] = value
    if "process_started_ns" not in fields:
        return None
    try:
        return RankRecord.model_validate(fields)
    except ValidationError as error:
        raise RecordError(f"{path} does not hold a rank's record: {error}") from error


def read_ranks(job_dir: Path) -> list[RankRecord]:
    """Return the records of all ranks of a job that have written one, in order of rank."""
    records = [read_rank(path) for path in job_dir.glob("rank-*.jsonl")]
    return sorted((record for record in records if record is not None), key=lambda record: record.rank)


def read_bounds(job_dir: Path, rank: int) -> NDArray[np.int64] | None:
    """Return start and end of each step of a rank in ns, shape (steps, 2), or None when the rank wrote none.

    Raises RecordError when the file is not whole.
    """
    path = job_dir / f"rank-{rank}-steps.npy"
    if not path.exists():
        return None
    try:
        bounds: NDArray[np.int64] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise RecordError(f"{path} is not a whole array of step boundaries: {error}") from error
    return bounds


def read_arrays(path: Path) -> dict[str, NDArray[np.float64]]:
    """Return the arrays of a proof by name. Raises RecordError when the file is missing or not whole."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise RecordError(f"{path} is not a proof's whole set of arrays: {error}") from error


def _initial_fields() -> dict[str, Any]:
    return {key: list(value) if isinstance(value, list) else value for key, value in _INITIAL_FIELDS.items()}
