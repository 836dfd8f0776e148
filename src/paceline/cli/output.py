"""Where output goes: documents to standard output, everything for people beside them to standard error."""

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
    """Return a console; plain and without wrapping of cells at 80 columns when nobody looks."""
    from rich.console import Console

    found = Console(stderr=stderr, highlight=False)
    if not found.is_terminal and found.width < PIPED_WIDTH:
        found = Console(stderr=stderr, highlight=False, width=PIPED_WIDTH)
    return found


PIPED_WIDTH = 120


def program() -> str:
    """Return how the user can call us again: ``paceline`` where that finds us, else the path that was typed."""
    typed = sys.argv[0]
    if Path(typed).name != "paceline" or shutil.which("paceline") == typed:
        return "paceline"
    return typed
