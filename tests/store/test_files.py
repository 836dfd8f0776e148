"""Whole files, and errors that name the file and the field."""

from pathlib import Path

import pytest

from paceline.errors import RecordError
from paceline.store.files import read_model, write_whole


def test_a_whole_write_replaces_or_leaves(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_whole(path, "one")
    write_whole(path, "two")
    assert path.read_text() == "two"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_reading_names_the_file_and_the_field(tmp_path: Path) -> None:
    from paceline.schema.records import Ending

    (tmp_path / "ending.json").write_text('{"status": "ok"}')
    with pytest.raises(RecordError, match=r"ending\.json cannot be read"):
        read_model(tmp_path / "ending.json", Ending)
