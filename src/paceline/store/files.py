"""Files that are written beside their place and then renamed into it: a reader sees the old or the new one, whole."""

import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from paceline.errors import RecordError
from paceline.schema.suite import STORED

M = TypeVar("M", bound=BaseModel)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is complete or unchanged, even if this process is killed meanwhile."""
    beside = path.with_name(f".{path.name}.partial")
    with beside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def write_model(path: Path, model: BaseModel) -> None:
    """Write a model as JSON, completely or not at all."""
    write_whole(path, model.model_dump_json(indent=1) + "\n")


def read_model(path: Path, kind: type[M]) -> M:
    """Read a model from its JSON file. Raises RecordError that names the file and what is wrong with it."""
    try:
        return kind.model_validate_json(path.read_text(), context=STORED)
    except FileNotFoundError:
        raise RecordError(f"{path} is missing: is this a run directory, and is it whole?") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise RecordError(f"{path} cannot be read: {where}: {first['msg']}") from error
