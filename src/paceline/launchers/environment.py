"""The environment that every process of a trial starts with, and the caches that outlive trials."""

import hashlib
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from paceline.schema.conditions import TUNING_VARIABLES, Conditions, Policy

_FOREIGN = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "CROSS_RANK",
    "CROSS_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "SLURM_PROCID",
)
"""Left over from another job, these would make a rank believe that it belongs to it."""
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_FOREIGN_PREFIXES = ("RAY_", "TORCHELASTIC_", "DEEPSPEED_", "DS_", "PACELINE_")
_KEPT = ("PACELINE_DATA",)
"""Ours, and meant for ranks."""


def scripts_dir() -> Path:
    """Return the folder of the commands that were installed beside this Python."""
    return Path(sysconfig.get_path("scripts"))


def visible_accelerators() -> list[str] | None:
    """Return the accelerators that the user lets CUDA see, in order; None where nothing is said, so all of them."""
    said = os.environ.get(_VISIBLE)
    return None if said is None else [name.strip() for name in said.split(",") if name.strip() not in ("", "-1")]


def accelerator_names(devices: Sequence[int]) -> tuple[str, ...]:
    """Return what CUDA calls planned accelerators, which are counted among the visible ones."""
    visible = visible_accelerators()
    return tuple(str(d) if visible is None else visible[d] for d in devices)


def base_environment(
    conditions: Conditions,
    tier: str,
    temp_dir: Path,
    markers: dict[str, str],
    import_path: str | None = None,
    accelerators: tuple[str, ...] = (),
) -> dict[str, str]:
    """Return the complete environment of a trial's processes before its launcher adds to it."""
    searched = [p for p in (import_path, os.environ.get("PYTHONPATH")) if p]
    dropped = _FOREIGN_PREFIXES + (TUNING_VARIABLES if conditions.policy is Policy.NORMALISED else ())
    inherited = {k: v for k, v in os.environ.items() if k not in _FOREIGN and (k in _KEPT or not k.startswith(dropped))}
    return {
        **inherited,
        **conditions.environment(),
        # One PATH for prebuild and ranks: another ninja or compiler in front rebuilds DeepSpeed's operators.
        "PATH": f"{scripts_dir()}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "TORCH_EXTENSIONS_DIR": str(operator_cache()),
        "TMPDIR": str(temp_dir),
        "DS_ACCELERATOR": "cuda" if tier == "gpu" else "cpu",
        **({_VISIBLE: ",".join(accelerators)} if accelerators else {}),
        # One machine: the host name may resolve to 127.0.1.1 or to nothing.
        "GLOO_SOCKET_IFNAME": "lo",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONUNBUFFERED": "1",
        **({"PYTHONPATH": os.pathsep.join(searched)} if searched else {}),
        **markers,
    }


def cache_dir() -> Path:
    """Return Paceline's cache folder (XDG)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paceline"


def state_dir() -> Path:
    """Return Paceline's state folder (XDG)."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "paceline"


@cache
def operator_cache() -> Path:
    """Return where compiled operators are kept.

    They are built with -march=native, so the folder is named by CPU model, compiler and versions.
    """
    parts = [_cpu_model(), _compiler_version(), *(_version(p) for p in ("torch", "deepspeed", "ninja"))]
    key = hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()
    return cache_dir() / "operators" / key


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))


def _compiler_version() -> str:
    compiler = os.environ.get("CXX") or "g++"
    if shutil.which(compiler) is None:
        return "none"
    shown = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return shown.stdout.partition("\n")[0]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
