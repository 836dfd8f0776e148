"""A suite: the cells to compare and how to sample them. Read from YAML; an unknown key is an error."""

import json
import re
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, FiniteFloat, ValidationInfo, model_validator

from paceline.schema.engine import NAME_CHARACTERS, PART, Engine, EngineName
from paceline.schema.model import Model

STORED = {"stored": True}
"""Validation context of what is read from a run directory: a bad name there is no reason not to read it."""

# Bounds are far beyond what anybody measures: they turn a slip of the finger into a message at once, instead of a plan
# that never ends or a process without memory.
MAX_BLOCKS = 1000
"""What a pair lacks for a verdict is looked for up to 200 blocks; five times that is weeks of measuring."""
MAX_TRIALS = 100_000
"""Largest number of trials of a run. At half a minute each that is a month, and the plan is still made in seconds."""
MAX_JOBS = 10_000
MAX_RANKS = 4096
MAX_STEPS = 1_000_000
"""Every step of every rank is kept in the raw records."""
MAX_BATCH = 1_000_000
MAX_SAMPLES = 1_000_000_000
MAX_TIMEOUT_S = 7 * 24 * 3600.0
"""A week."""


def _named(text: str, info: ValidationInfo) -> str:
    if info.context is not STORED and not re.fullmatch(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,{NAME_CHARACTERS - 1}}}", text):
        raise ValueError(
            f"it names a folder: use letters, digits, dots, dashes and underscores, at most {NAME_CHARACTERS}, "
            "the first no dot or dash"
        )
    return text


def _named_after_at(text: str) -> str:
    if not re.fullmatch(PART, text):
        raise ValueError(f"it is used as engine@name: use small letters, digits and dashes, at most {NAME_CHARACTERS}")
    return text


def _writable(settings: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"it cannot be handed on as JSON: {error}") from error
    return settings


FolderName = Annotated[str, AfterValidator(_named)]
VariantName = Annotated[str, AfterValidator(_named_after_at)]
Settings = Annotated[dict[str, Any], AfterValidator(_writable)]
"""What a framework understands, as JSON: without this check infinity would arrive as null, and a date as a text."""


class Category(StrEnum):
    """The quadrants of (single-load computation, load concurrency)."""

    LARGE_SCALE = "large-scale"
    MODERATE_COMPLEXITY = "moderate-complexity"
    HIGH_LOAD = "high-load"
    HIGH_PERFORMANCE = "high-performance"

    @property
    def heading(self) -> str:
        """Name and axes of the category, for headings."""
        return _TITLES[self]


_TITLES = {
    Category.LARGE_SCALE: "Large-Scale (heavy load, few at once)",
    Category.MODERATE_COMPLEXITY: "Moderate Complexity (light load, few at once)",
    Category.HIGH_LOAD: "High Load (light load, many at once)",
    Category.HIGH_PERFORMANCE: "High-Performance (heavy load, many at once)",
}


class Load(Model):
    """The jobs of a trial: how many, and how they arrive."""

    jobs: int = Field(default=1, ge=1, le=MAX_JOBS)
    arrival: Literal["together"] = "together"

    @property
    def many(self) -> bool:
        """Whether the load has several jobs, which compete for the devices."""
        return self.jobs > 1


def headline_metric(load: Load) -> str:
    """Return the metric that verdicts are about: throughput of one job, or the time to finish many jobs."""
    return "makespan_s" if load.many else "samples_per_s"


class Peak(Model):
    """A stated peak of one device, with the source of the figure."""

    flops_per_s: FiniteFloat | None
    source: str


class Expectation(Model):
    """What a self-test must find: a metric's value, a metric that must be null, a flag, or a trial status."""

    metric: str | None = None
    value: FiniteFloat | None = None
    at_least: FiniteFloat | None = None
    within: FiniteFloat = Field(default=0.01, ge=0)
    """Relative tolerance of ``value``."""
    null: bool = False
    flag: str | None = None
    says: str = ""
    """Part of the flag's message."""
    status: str | None = None


class Recipe(StrEnum):
    """Precision of a training; engines are compared within one recipe only (docs/method.md, "Same work")."""

    FP32 = "fp32"
    AMP = "amp"
    """fp32 parameters and masters, bf16 compute."""
    BF16_MASTER = "bf16-master"
    """bf16 weights, fp32 masters."""


class Variant(Model):
    """A named overlay of an engine: settings of its framework, and options of all strategies on PyTorch."""

    settings: Settings = {}
    """Settings of the strategy: DeepSpeed's JSON, arguments of DistributedDataParallel or of fully_shard, ..."""
    settings_file: str | None = None
    """JSON file of settings, relative to the suite's file; ``settings`` override its values."""
    compile: bool = False
    """Compile the model with torch.compile."""
    recompute: bool = False
    """Recompute the activations of the workload's layers in the backward pass."""
    launcher: Settings = {}
    """Options of the launcher, e.g. Ray's ``max_calls``."""
    cores_per_rank: Annotated[int, Field(ge=1, le=MAX_RANKS)] | Literal["all"] = 1
    summary: str = ""


GENERAL_VARIANTS = {
    "compile": Variant(compile=True, summary="torch.compile"),
    "recompute": Variant(recompute=True, summary="activations of the layers are recomputed"),
}
"""Variants of every strategy on PyTorch."""


class Comparison(Model):
    """One workload under one load on several engines: the cells that are compared with each other."""

    title: str = ""
    """Heading of the comparison, where category and workload do not suffice."""
    category: Category
    workload: str = Field(pattern=r"^[\w.-]+(:[\w.]+)?$", max_length=100)
    """A registered name, or ``module:Class`` of your own."""
    tier: Literal["auto", "cpu", "gpu"] = "auto"
    engines: tuple[Engine, ...] = Field(min_length=1)
    reference: Engine | None = None
    data: str = Field(default="auto", max_length=NAME_CHARACTERS)
    """``auto`` (the workload's first data set that is here), ``synthetic`` (generated data) or a data set's name."""
    recipe: Recipe = Recipe.FP32
    ranks: Annotated[int, Field(ge=1, le=MAX_RANKS)] | Literal["all"] = "all"
    load: Load = Load()
    accumulation: int = Field(default=1, ge=1, le=MAX_BATCH)
    global_batch: int | None = Field(default=None, ge=1, le=MAX_BATCH)
    samples: int | None = Field(default=None, ge=1, le=MAX_SAMPLES)
    """Number of first samples to train on; null for all samples of the workload."""
    incomplete_batch: Literal["drop", "pad"] = "drop"
    warm_up_steps: int = Field(default=3, ge=0, le=MAX_STEPS)
    """Steps between the first step and the window, the same number for all engines."""
    steps: int = Field(ge=1, le=MAX_STEPS)
    """Steps of the timed window."""
    evaluate: bool = False
    """Measure test accuracy after the last step (an untimed training, never ranked)."""
    oversubscribe: bool = False
    """Allow more ranks than devices."""
    timeout_s: FiniteFloat = Field(default=600, gt=0, le=MAX_TIMEOUT_S)
    peak: Peak | None = None
    expect: dict[str, tuple[Expectation, ...]] = {}
    """For each engine's name, what its trials must show; a miss makes the command exit with 1."""

    @property
    def confirmatory_metric(self) -> str | None:
        """The one metric that verdicts of the comparison are about; None for a comparison of accuracy."""
        return None if self.evaluate else headline_metric(self.load)

    @property
    def reference_engine(self) -> EngineName:
        """The engine with which all others are compared: ``reference``, or else the first engine."""
        return self.reference or self.engines[0]

    @model_validator(mode="after")
    def _reference_takes_part(self) -> Self:
        if self.reference is not None and self.reference not in self.engines:
            raise ValueError(f"reference {self.reference} is not among the engines of the comparison")
        names = {str(e) for e in self.engines}
        if len(names) != len(self.engines):
            raise ValueError("an engine is named twice")
        if unknown := set(self.expect) - names:
            raise ValueError(f"expect names {sorted(unknown)}, which are not among the engines")
        return self


class Suite(Model):
    """Comparisons and the number of blocks that sample them."""

    name: FolderName
    description: str
    blocks: int = Field(default=1, ge=1, le=MAX_BLOCKS)
    minimum_blocks: int = Field(default=1, ge=1, le=MAX_BLOCKS)
    """Below this many finished blocks a run that ran out of budget exits with 124."""
    verdicts: bool = False
    proofs: bool = True
    """Whether to prove, once an engine, that it trains what a single process trains; if not, rows are ``unproven``."""
    import_path: str | None = None
    """Folder of the suite's file, from which custom workloads are imported; set when the file is read."""
    variants: dict[VariantName, Variant] = {}
    """Named overlays, used as ``launcher/strategy@name``; they take precedence over the built-in ones."""
    comparisons: tuple[Comparison, ...] = Field(min_length=1)
