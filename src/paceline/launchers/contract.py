"""The contract of a launcher: (job or load, place) to a command line and an environment."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from paceline.launchers.matrix import MATRIX, Row
from paceline.spec import registry
from paceline.spec.suite import Variant
from paceline.spec.trial import Cell


@dataclass(frozen=True)
class Command:
    """What to execute. ``environment`` is complete: nothing is inherited beside it."""

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
    """The base: conditions, caches, markers; launchers add to it."""
    port: int
    """A port that was free a moment ago, for launchers that must name one."""


class Launcher(ABC):
    """What can be run, and whose scheduler decides when a job runs."""

    name: ClassVar[str]
    modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that the launcher needs."""
    scheduler: ClassVar[str]
    """Whose scheduler places many jobs, as the tables say it."""
    startup_estimate_s: ClassVar[float]
    """From submission to a rank's first line on two cores with warm caches: for estimates only."""
    selftest_only: ClassVar[bool] = False
    variants: ClassVar[Mapping[str, Variant]] = {}
    """Named ways of launching that come with the launcher."""

    def placed_by(self, variant: Variant) -> str:  # noqa: ARG002 - a launcher may place differently by variant
        """Return whose scheduler places many jobs, and in what processes, as the tables say it."""
        return self.scheduler

    @property
    def row(self) -> Row:
        """What this launcher carries."""
        return MATRIX[self.name]

    def refusal(self, cell: Cell) -> str | None:
        """Return why a cell cannot run under this launcher, or None when it can. Asked before anything is started."""
        return self.row.refusal(cell)


class JobLauncher(Launcher):
    """One process tree a job; Paceline's first-come-first-served queue decides when each starts."""

    scheduler: ClassVar[str] = "Paceline's FCFS, fresh processes"

    @abstractmethod
    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the command that runs one job to its end."""


class LoadLauncher(Launcher):
    """One driver for the whole load; the framework itself decides when and where each job runs."""

    @abstractmethod
    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command that runs all jobs of a plan to their end."""


def get(name: str) -> Launcher:
    """Return the launcher registered under a name. Raises RequestError, offering the nearest names."""
    launcher: Launcher = registry.load("launchers", name)()
    return launcher
