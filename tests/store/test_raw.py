"""Lines that ranks write: one that was cut off is left out, a broken one is an error."""

from pathlib import Path

import pytest

from paceline.errors import RecordError
from paceline.store.raw import json_lines, read_rank


def test_a_line_that_a_kill_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.jsonl"
    path.write_text('{"event": "process_started_ns", "value": 5}\n{"event": "cor')
    record = read_rank(path)
    assert record is not None
    assert record.process_started_ns == 5


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": 1}\n{"ev\n{"event": 2}\n')
    with pytest.raises(RecordError, match=r"events\.jsonl:2"):
        list(json_lines(path))
