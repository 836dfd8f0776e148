"""Descriptions of strategies that the conductor can read without importing a framework."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from paceline import registry
from paceline.errors import RequestError
from paceline.schema.suite import Variant


@dataclass(frozen=True)
class StrategyDescriptor:
    """A strategy's name and its implementation (``module:Class``), which only ranks import."""

    name: str
    implementation: str
    modules: tuple[str, ...]
    """Top-level Python modules that the implementation needs."""
    summary: str
    one_rank_only: bool = False
    launchers: tuple[str, ...] = ()
    """Launchers that can run the strategy although their own table does not name it (strategies of other packages)."""
    variants: Mapping[str, Variant] = field(default_factory=dict)
    """Overlays that come with the strategy, by the name after the engine's @."""
    selftest_only: bool = False


def registered_strategies() -> list[StrategyDescriptor]:
    """Return the descriptors of all strategies that can be loaded, sorted by name; the others are left out."""
    loadable = []
    for name in registry.names("strategies"):
        with suppress(RequestError):
            loadable.append(strategy_named(name))
    return loadable


def strategy_named(name: str) -> StrategyDescriptor:
    """Return the descriptor registered under a name. Raises RequestError, offering the nearest names."""
    descriptor: StrategyDescriptor = registry.load("strategies", name)
    return descriptor
