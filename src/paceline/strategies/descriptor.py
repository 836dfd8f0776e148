"""What the conductor knows of a strategy without importing it."""

from dataclasses import dataclass

from paceline.spec import registry


@dataclass(frozen=True)
class StrategyDescriptor:
    """A strategy's name and where its implementation is (``module:Class``), loaded only inside ranks."""

    name: str
    implementation: str
    modules: tuple[str, ...]
    """Top-level modules that the implementation needs."""
    summary: str
    one_rank_only: bool = False
    selftest_only: bool = False


def get(name: str) -> StrategyDescriptor:
    """Return the descriptor registered under a name. Raises RequestError, offering the nearest names."""
    found: StrategyDescriptor = registry.load("strategies", name)
    return found
