"""Exceptions that Paceline raises on purpose. A message names the thing, the value that is wrong, and the fix."""

import difflib
from collections.abc import Iterable


class PacelineError(Exception):
    """Base of all exceptions below; its text is meant for the user."""


class RequestError(PacelineError):
    """The user's request is wrong; nothing was started (exit code 2)."""


class RecordError(PacelineError):
    """A run directory is missing, incomplete, or of an unknown schema version."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known names, or all of them when none is near."""
    choices = sorted(str(name) for name in known)
    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    return f"known: {', '.join(choices) or 'none'}"
