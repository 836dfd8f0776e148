"""What the conductor knows of a strategy without importing it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from paceline import registry
from paceline.errors import RequestError
from paceline.schema.suite import Variant


@dataclass(frozen=True)
class StrategyDescriptor:
    """A strategy's name and where its implementation is (``module:Class``), loaded only inside ranks."""

    name: str
    implementation: str
    modules: tuple[str, ...]
    """Top-level modules that the implementation needs."""
    summary: str
    one_rank_only: bool = False
    launchers: tuple[str, ...] = ()
    """Launchers that carry it, where it is not in their own table: how a strategy from elsewhere says what it needs."""
    variants: Mapping[str, Variant] = field(default_factory=dict)
    """Named overlays that come with the strategy."""
    selftest_only: bool = False


def registered_strategies() -> list[StrategyDescriptor]:
    """Return all that can be loaded, by name; one that cannot is no reason to list none."""
    found = []
    for name in registry.names("strategies"):
        with suppress(RequestError):
            found.append(strategy_named(name))
    return found


def strategy_named(name: str) -> StrategyDescriptor:
    """Return the descriptor registered under a name. Raises RequestError, offering the nearest names."""
    found: StrategyDescriptor = registry.load("strategies", name)
    return found
