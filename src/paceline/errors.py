"""The exception hierarchy. A message names the thing, the value that was wrong, and the fix."""

import difflib
from collections.abc import Iterable


class PacelineError(Exception):
    """Base of every error that Paceline raises on purpose; its text is meant for the user."""


class RequestError(PacelineError):
    """The request was wrong: nothing was started (exit code 2)."""


class RecordError(PacelineError):
    """A run directory is absent, incomplete or of an unknown schema version."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the tail of an 'unknown name' message: the nearest known names, or all of them when none is near."""
    choices = sorted(str(name) for name in known)
    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    return f"known: {', '.join(choices) or 'none'}"
