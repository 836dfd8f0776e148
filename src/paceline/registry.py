"""Workloads, strategies and launchers by name, and what is installed for them.

All of them register by entry point: those that come with Paceline in the same way as those of other packages.
"""

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
    """Return which of these top-level modules are not installed, without importing any."""
    return [module for module in modules if not _installed(module)]


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def installed_version(package: str) -> str | None:
    """Return the version of an installed package, or None when it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def is_cpu_build(package: str) -> bool:
    """Return whether a package is installed in a build without accelerators, marked by ``+cpu`` in its version."""
    return (installed_version(package) or "").endswith("+cpu")


INSTALL_LINES = {
    "torch": "pip install 'paceline[torch]'",
    "transformers": "pip install 'paceline[torch]'",
    "sklearn": "pip install 'paceline[torch]'",
    "deepspeed": "pip install 'paceline[deepspeed]'",
    "ray": "pip install 'paceline[ray]'",
}
"""Module to the command that installs it."""


def unavailable(modules: tuple[str, ...]) -> str | None:
    """Return which of these modules are missing, with the command that installs them; None when all are there."""
    missing = missing_modules(modules)
    if not missing:
        return None
    # Installing the last one installs the others too: paceline[ray] includes torch.
    install_line = INSTALL_LINES.get(missing[-1], f"pip install {missing[-1]}")
    return f"{', '.join(missing)} not installed: {install_line}"
