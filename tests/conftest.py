"""Fixtures of all tests; what they build on is in ``support``."""

from pathlib import Path

import pytest

from support.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
