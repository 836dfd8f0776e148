"""Reading and damaging what a run has written."""

import json
from collections.abc import Callable
from pathlib import Path

from paceline.schema.records import RankRecord
from paceline.store.raw import read_ranks


def ranks_of(run: Path, engine: str) -> list[list[RankRecord]]:
    """Return the rank records of every job of an engine's only trial."""
    slug = engine.replace("/", "-").replace("@", "-")
    (trial,) = run.glob(f"trials/*-{slug}-[0-9]*")
    return [read_ranks(job) for job in sorted((trial / "jobs").iterdir())]


def edit_json(path: Path, change: Callable[[dict], None]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
