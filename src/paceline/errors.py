"""Exceptions that Paceline raises on purpose. A message names the thing, the value that is wrong, and the fix."""

import difflib
from collections.abc import Iterable


class PacelineError(Exception):
    """Base of all exceptions below; its text is meant for the user."""


class RequestError(PacelineError):
    """The user's request is wrong; nothing was started (exit code 2)."""


class RecordError(PacelineError):
    """A run directory is missing, incomplete, or of an unknown schema version."""


QUOTED_CHARACTERS = 80
"""What a message shows of a user's value: enough to find it by, and the message stays readable."""
LISTED_NAMES = 24
"""What a message lists of the known names."""


def quoted(value: object, limit: int = QUOTED_CHARACTERS) -> str:
    """Return a user's value as code writes it, on one line of at most ``limit`` characters."""
    return one_line(repr(value), limit)


def shown(name: str, limit: int = QUOTED_CHARACTERS) -> str:
    """Return a user's name as it was typed where that is short and printable, else quoted."""
    return name if len(name) <= limit and name.isprintable() else quoted(name, limit)


def one_line(text: str, limit: int) -> str:
    """Return a text without line breaks, cut with an ellipsis at ``limit`` characters."""
    line = " ".join(part.strip() for part in text.splitlines())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known names, or some of all when none is near."""
    choices = sorted(str(name) for name in known)
    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(quoted(c) for c in close)}?"
    listed = ", ".join(shown(choice) for choice in choices[:LISTED_NAMES])
    more = f" and {len(choices) - LISTED_NAMES} more" if len(choices) > LISTED_NAMES else ""
    return f"known: {listed or 'none'}{more}"
