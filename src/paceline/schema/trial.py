"""A cell (what is compared), a trial (one independent execution of it) and a job (the instructions to its ranks)."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import model_validator

from paceline.schema.conditions import Conditions
from paceline.schema.engine import Engine, EngineName
from paceline.schema.model import Model
from paceline.schema.proof import ProofPlan
from paceline.schema.suite import Category, Load, Peak, Recipe, Variant, headline_metric


class Cell(Model):
    """Workload x engine x load x resources, with all settings that fix the work of one job."""

    comparison: int
    """Position of the cell's comparison in the suite: cells of one comparison are compared with each other."""
    category: Category
    workload: str
    trains: bool = True
    """Whether the workload trains; the fake workload does not, so that there is no work to prove."""
    tier: Literal["cpu", "gpu"]
    data: Literal["real", "synthetic"]
    dataset: str
    engine: Engine
    variant: Variant = Variant()
    """The overlay that the engine's @name stands for."""
    recipe: Recipe = Recipe.FP32
    load: Load
    ranks: int
    """Ranks of one job."""
    cores_per_rank: int = 1
    micro_batch: int
    accumulation: int
    samples: int | None
    incomplete_batch: Literal["drop", "pad"]
    warm_up_steps: int
    steps: int
    evaluate: bool
    oversubscribe: bool
    timeout_s: float
    peak: Peak | None = None
    flops_per_sample_training: float | None = None
    """FLOPs of forward and backward of one sample, counted once on a plain copy of the model; null if unknown."""
    flops_source: str = "not counted"

    @model_validator(mode="before")
    @classmethod
    def _read_older_records(cls, data: Any) -> Any:
        """Fill in ``trains``, which older run directories lack."""
        if isinstance(data, dict) and "trains" not in data and data.get("workload") == "fake":
            return {**data, "trains": False}
        return data

    @property
    def id(self) -> str:
        """A name that is unique within a suite and readable in a file listing."""
        shape = f"{self.load.jobs}x{self.ranks}r" if self.load.many else f"{self.ranks}r"
        more = [f"a{self.accumulation}"] if self.accumulation > 1 else []
        more += [self.recipe] if self.recipe is not Recipe.FP32 else []
        more += [self.dataset] if self.data == "synthetic" and self.workload != "fake" else []
        return "-".join([self.category, self.workload.replace(":", "."), self.engine.slug, shape, *more])

    @property
    def global_batch(self) -> int:
        """Samples of one optimiser step over all ranks of a job."""
        return self.micro_batch * self.accumulation * self.ranks

    @property
    def layout(self) -> tuple[int, int]:
        """A job's division of its devices: (ranks, cores a rank)."""
        return self.ranks, self.cores_per_rank

    @property
    def total_steps(self) -> int:
        """Optimiser steps of one job: the first step, the warm-up and the window."""
        return 1 + self.warm_up_steps + self.steps

    @property
    def headline_metric(self) -> str:
        """The one metric that progress lines, verdicts and comparisons of this cell are about."""
        if self.evaluate:
            return "test_accuracy"
        return headline_metric(self.load)

    def as_single_process(self) -> "Cell":
        """Return the cell of one plain process that takes every rank's micro-batches one after another."""
        alone = {
            "engine": EngineName("python", "single"),
            "variant": Variant(),
            "ranks": 1,
            "cores_per_rank": 1,
            "accumulation": self.ranks * self.accumulation,
        }
        return self.model_copy(update=alone)


class Trial(Model):
    """One execution of a cell in fresh processes: the only unit of evidence."""

    id: str
    cell: Cell
    block: int
    position: int
    """Position within the block, counted from 0."""
    seed: int
    """Shared by all engines of the block: initial weights and order of samples derive from it."""
    conditions: Conditions
    devices: tuple[int, ...]
    """Core numbers (or accelerator indices) that the trial may use."""
    proof: ProofPlan | None = None
    """Instructions for a proof trial; null in timed trials."""
    prove_end: bool = False
    """Whether ``Part.END`` is proven after the window."""
    estimate_s: float | None = None
    """Wall seconds that the plan expected; null in older run directories, which lack it."""

    @property
    def slots(self) -> list[tuple[int, ...]]:
        """The devices in fixed shares, each for one job; a single share where they are too few for one job."""
        size = self.cell.ranks * self.cell.cores_per_rank
        shares = [self.devices[first : first + size] for first in range(0, len(self.devices) - size + 1, size)]
        return shares or [self.devices]


class Job(Model):
    """The file that every rank of a job reads first; its path is on the rank's command line."""

    trial_id: str
    job_id: int
    cell: Cell
    seed: int
    conditions: Conditions
    devices: tuple[int, ...]
    """Devices of which each rank of this job may lease its share."""
    lease_dir: str
    out_dir: str
    tree_marker: str
    """``NAME=value``, the marker in the environment of every process of the trial."""
    proof: ProofPlan | None = None
    """The trial's ``proof``."""
    prove_end: bool = False
    """The trial's ``prove_end``."""
    alone: bool
    """Whether this is the trial's only job.

    Rank 0 then reads the memory of all the trial's processes at phase edges; among many jobs, it would slow the others.
    """


class PlannedJob(Model):
    """One line of a job plan: which job, in which file, planned for when."""

    job_id: int
    file: str
    planned_offset_s: float = 0.0
    """Planned time of submission, in seconds after the load is ready to accept jobs."""


class LoadPlan(Model):
    """The file that the driver of a framework's own scheduler (Ray) reads: a trial's jobs and their resources."""

    jobs: tuple[PlannedJob, ...]
    ranks: int
    cores_per_rank: int
    devices: int
    tier: Literal["cpu", "gpu"]
    conditions: Conditions
    launcher: dict[str, Any] = {}
    """Options of the launcher, from the engine's variant."""
    temp_dir: str
    """Folder with a short path, because paths of sockets below it may have 107 bytes at most."""
    events_file: str


class Status(StrEnum):
    """How a trial or job ended (docs/run-directory.md)."""

    OK = "ok"
    FAILED = "failed"
    OOM = "oom"
    TIMEOUT = "timeout"
    DIVERGED = "diverged"
    INFEASIBLE = "infeasible"
    INFRASTRUCTURE = "infrastructure"
    INTERRUPTED = "interrupted"
    INVALID = "invalid"
