"""Conditions: what is fixed for every engine alike, and what a rank reads back to prove that they were in force."""

from enum import StrEnum
from typing import Any, Literal

from paceline.schema.model import Model

GIB = 1024**3
MIB = 1024**2


class Policy(StrEnum):
    """Source of the conditions: Paceline, with the same for all engines, or each engine's own defaults."""

    NORMALISED = "normalised"
    AS_SHIPPED = "as-shipped"


class ConditionsOutcome(StrEnum):
    """Whether an engine's trials ran under the conditions of the reference engine's."""

    SAME = "same"
    UNPROVEN = "unproven"
    DIFFERENT = "different"


class Conditions(Model):
    """Settings that every engine gets alike under ``normalised`` (docs/method.md, "Conditions"); defaults are tuned."""

    policy: Policy = Policy.NORMALISED
    threads_per_rank: int = 1
    """Intra-operator threads: one for each leased core, so that two ranks on two cores do not compete."""
    pin_ranks: bool = True
    """Each rank leases a core and pins its whole process to it (docs/method.md, "Many jobs")."""
    malloc_mmap_threshold_bytes: int = 32 * MIB
    """glibc silently ignores anything above 32 MiB (half a heap), so this is the largest effective value."""
    malloc_trim_threshold_bytes: int = 4 * GIB
    malloc_top_pad_bytes: int = 64 * MIB
    matmul_precision: Literal["highest", "high", "medium"] = "highest"
    collective_timeout_minutes: int = 5
    object_store_bytes: int = 80 * MIB
    """Size of Ray's object store; Ray refuses less than 75 MiB."""

    def environment(self) -> dict[str, str]:
        """Return the environment variables that must be set before a rank's interpreter starts."""
        if self.policy is Policy.AS_SHIPPED:
            return {}
        threads = str(self.threads_per_rank)
        return {
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "MALLOC_MMAP_THRESHOLD_": str(self.malloc_mmap_threshold_bytes),
            "MALLOC_TRIM_THRESHOLD_": str(self.malloc_trim_threshold_bytes),
            "MALLOC_TOP_PAD_": str(self.malloc_top_pad_bytes),
            "DEEPSPEED_TIMEOUT": str(self.collective_timeout_minutes),
        }


HARD_CONDITIONS = (
    "intraop_threads",
    "interop_threads",
    "cores_per_rank",
    "matmul_precision",
    "mkldnn",
    "deterministic_algorithms",
    "device_type",
    "backend",
    "default_dtype",
    "torch_version",
    "environment",
)
"""Read-back items in which engines must agree; a difference in one makes conditions ``different``."""


SOFT_CONDITIONS = ("process_threads", "python", "other_environment")
"""Read-back items in which engines may differ by nature (launchers set variables, frameworks have threads).

Differences are reported and change no outcome.
"""

TUNING_VARIABLES = ("OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
"""Beginnings of the names of variables with which a user tunes: ``as-shipped`` keeps, ``normalised`` removes them."""

REPORTED_VARIABLES = (
    *TUNING_VARIABLES,
    *("ATEN_", "DNNL_", "ONEDNN_", "TORCH_", "PYTORCH_", "NCCL_", "GLOO_", "CUDA_", "DEEPSPEED_", "DS_", "RAY_TRAIN_"),
)
"""Beginnings of the names of variables that may change a training's speed; differences between engines are reported."""

LAYOUT_CONDITIONS = (
    *("intraop_threads", "interop_threads", "cores_per_rank", "backend"),
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
)
"""Read-back items that follow from a cell's layout, e.g. one rank with two cores has two threads."""


def differing_conditions(one: dict[str, Any], other: dict[str, Any], *, same_layout: bool = True) -> list[str]:
    """Return ``item: value / value`` for each hard item in which two read-backs differ.

    Between two layouts ``LAYOUT_CONDITIONS`` do not count: rows of other layouts exist to compare the layouts.
    """
    return [
        f"{name}: {first} / {second}"
        for name, first, second in _all_differences(HARD_CONDITIONS, one, other)
        if same_layout or name not in LAYOUT_CONDITIONS
    ]


def soft_differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return ``item: value / value`` for each soft item in which two read-backs differ."""
    return [f"{name}: {first} / {second}" for name, first, second in _all_differences(SOFT_CONDITIONS, one, other)]


def _all_differences(items: tuple[str, ...], one: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [difference for item in items for difference in _differences(item, one.get(item), other.get(item))]


def _differences(item: str, one: Any, other: Any) -> list[tuple[str, Any, Any]]:
    """Return (name, value, value) of an item that differs; of a table such as the environment, each differing row."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [(name, one.get(name), other.get(name)) for name in one | other if one.get(name) != other.get(name)]
    return [(item, one, other)] if one != other else []
