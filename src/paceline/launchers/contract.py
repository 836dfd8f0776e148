"""The contract of a launcher: from a job, or a load, and its site to a command line and an environment."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from paceline import registry
from paceline.launchers.matrix import Row
from paceline.schema.suite import Variant
from paceline.schema.trial import Cell
from paceline.strategies.descriptor import StrategyDescriptor, registered_strategies, strategy_named


@dataclass(frozen=True)
class Command:
    """What to execute. ``environment`` is complete: nothing else is inherited."""

    argv: tuple[str, ...]
    environment: dict[str, str]


@dataclass(frozen=True)
class Site:
    """Where the processes of a job live."""

    scripts: Path
    """Folder of the installed commands (``torchrun``, ``deepspeed``)."""
    python: str
    temp_dir: Path
    environment: dict[str, str]
    """Conditions, caches and markers; a launcher adds its own variables."""
    port: int
    """A port that was free a moment ago, for launchers that need one."""
    accelerators: tuple[str, ...] = ()
    """CUDA's names of the accelerators of the job's slot; the environment hides all others. Empty on the CPU tier."""


class Launcher(ABC):
    """What can be run, and whose scheduler decides when a job runs."""

    name: ClassVar[str]
    row: ClassVar[Row]
    """Strategies and loads that the launcher can run."""
    modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that must be installed."""
    scheduler: ClassVar[str]
    """Name of the scheduler that places many jobs, as tables print it."""
    startup_estimate_s: ClassVar[float]
    """Seconds from submission to a rank's first line, on two cores with warm caches: for estimates only."""
    selftest_only: ClassVar[bool] = False
    variants: ClassVar[Mapping[str, Variant]] = {}
    """Named ways of launching that come with the launcher: the part of an engine's name after @."""

    def placed_by(self, variant: Variant) -> str:  # noqa: ARG002 - a launcher may place differently by variant
        """Return which scheduler places many jobs, and in what processes, as tables print it."""
        return self.scheduler

    def carries(self, strategy: StrategyDescriptor) -> bool:
        """Return whether this launcher can run a strategy: either of the two may name the other."""
        return strategy.name in self.row.strategies or self.name in strategy.launchers

    def refusal(self, cell: Cell) -> str | None:
        """Return why a cell cannot run under this launcher, or None when it can. Called before anything is started."""
        strategy = strategy_named(cell.engine.strategy)
        if not self.carries(strategy):
            carried = ", ".join(other.name for other in registered_strategies() if self.carries(other))
            return f"engine {cell.engine} does not exist: launcher {self.name!r} carries {carried}"
        if strategy.one_rank_only and cell.ranks > 1:
            return f"engine {cell.engine} trains on one rank, {cell.ranks} were asked for: set ranks: 1"
        if cell.load.many and not self.row.many_jobs:
            return f"launcher {self.name!r} runs one job at a time: {self.row.why_one_job}"
        return None


class JobLauncher(Launcher):
    """Starts one process tree for each job; Paceline's first-come-first-served queue decides when."""

    scheduler: ClassVar[str] = "Paceline's FCFS, fresh processes"

    @abstractmethod
    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the command that runs one job to its end."""


class LoadLauncher(Launcher):
    """Starts one driver for the whole load; the framework itself decides when and where each job runs."""

    @abstractmethod
    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command that runs all jobs of a plan to their end."""


def launcher_named(name: str) -> Launcher:
    """Return the launcher registered under a name. Raises RequestError, offering the nearest names."""
    launcher: Launcher = registry.load("launchers", name)()
    return launcher
