"""What launchers can run: the type of each launcher's ``row``, and the sets of strategies that built-in rows name."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What one launcher can run. A ``StrategyDescriptor`` may add itself by naming the launcher."""

    strategies: frozenset[str]
    """Names of strategies."""
    many_jobs: bool = True
    """Whether a load may have more than one job."""
    why_one_job: str = ""
    """Why a load may have only one job, and what to use instead; empty where it may have more."""


SINGLE = frozenset({"single"})
ZERO = frozenset({"zero0", "zero1", "zero2", "zero3", "zero2-offload", "zero3-offload"})
ALL = SINGLE | ZERO | {"ddp", "fsdp2"}
"""Every built-in strategy that trains."""
