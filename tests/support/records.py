"""Reading what a run of real engines has written."""

from pathlib import Path

from paceline.schema.records import RankRecord
from paceline.store.raw import read_ranks


def ranks_of(run: Path, engine: str) -> list[list[RankRecord]]:
    """Return the rank records of every job of an engine's only trial."""
    slug = engine.replace("/", "-").replace("@", "-")
    (trial,) = run.glob(f"trials/*-{slug}-[0-9]*")
    return [read_ranks(job) for job in sorted((trial / "jobs").iterdir())]
