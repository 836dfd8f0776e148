"""Everything pluggable registers by entry point; built-in things like anybody's."""

from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from typing import Any

from paceline.errors import RequestError, nearest, quoted


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"paceline.{group}")}


def names(group: str) -> list[str]:
    """Return the registered names of ``workloads``, ``strategies`` or ``launchers``, in order."""
    return sorted(_entry_points(group))


def load(group: str, name: str) -> Any:
    """Return the object that is registered under a name. Raises RequestError, offering the nearest names."""
    point = _entry_points(group).get(name)
    if point is None:
        singular = {"workloads": "workload", "strategies": "strategy", "launchers": "launcher"}[group]
        raise RequestError(f"unknown {singular} {quoted(name)}: {nearest(name, names(group))}")
    try:
        return point.load()
    except Exception as error:
        raise RequestError(f"{group} entry point {name!r} ({point.value}) cannot be loaded: {error}") from error


def missing_modules(modules: tuple[str, ...]) -> list[str]:
    """Return those of the top-level modules that are not installed, without importing any."""
    return [module for module in modules if not _installed(module)]


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def is_cpu_build(package: str) -> bool:
    """Return whether an installed package says in its version that it is built without accelerators (``+cpu``)."""
    try:
        return version(package).endswith("+cpu")
    except PackageNotFoundError:
        return False


INSTALL_LINES = {
    "torch": "pip install 'paceline[torch]'",
    "transformers": "pip install 'paceline[torch]'",
    "sklearn": "pip install 'paceline[torch]'",
    "deepspeed": "pip install 'paceline[deepspeed]'",
    "ray": "pip install 'paceline[ray]'",
}
"""What installs a missing module."""


def unavailable(modules: tuple[str, ...]) -> str | None:
    """Return why something that needs these modules cannot run, with the install line; None when it can."""
    missing = missing_modules(modules)
    if not missing:
        return None
    # The last one named brings the others with it: paceline[ray] includes torch.
    line = INSTALL_LINES.get(missing[-1], f"pip install {missing[-1]}")
    return f"{', '.join(missing)} not installed: {line}"
