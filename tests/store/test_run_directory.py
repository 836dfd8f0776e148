"""A run directory is read by the version that wrote it."""

from pathlib import Path

from support.command_line import Cli
from support.records import edit_json


def test_a_later_schema_is_refused(cli: Cli, run: Path) -> None:
    edit_json(run / "run.json", lambda data: data.update(schema_version=99))
    done = cli.here("show", run)
    assert done.returncode == 1
    assert "schema version 99" in done.stderr
