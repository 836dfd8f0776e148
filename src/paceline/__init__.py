"""Paceline: which distributed-training framework should run this job on this hardware, and how sure are we?"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Return ``__version__`` when it is asked for: reading it at every start would cost --help 25 ms."""
    if name == "__version__":
        from importlib.metadata import version

        return version("paceline")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
