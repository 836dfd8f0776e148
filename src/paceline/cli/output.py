"""Where output goes. A JSON document has standard output to itself: all other text then goes to standard error."""

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def print_json(document: Any) -> None:
    """Print one JSON document and nothing else on standard output; NaN and infinity are errors, not values."""
    json.dump(document, sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def console(*, stderr: bool = False) -> "Console":
    """Return a console; outside a terminal it has no colours and is at least ``PIPED_WIDTH`` wide."""
    from rich.console import Console

    terminal = Console(stderr=stderr, highlight=False)
    if not terminal.is_terminal and terminal.width < PIPED_WIDTH:
        terminal = Console(stderr=stderr, highlight=False, width=PIPED_WIDTH)
    return terminal


PIPED_WIDTH = 120
"""Least width, in characters, of output that goes to a file or a pipe."""


def program() -> str:
    """Return how the user can start Paceline again: ``paceline`` where PATH finds it, else the path that was typed."""
    typed = sys.argv[0]
    if Path(typed).name != "paceline" or shutil.which("paceline") == typed:
        return "paceline"
    return typed
