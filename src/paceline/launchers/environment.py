"""The environment that every process of a trial starts with, and the caches that outlive trials."""

import hashlib
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from paceline.registry import installed_version
from paceline.schema.conditions import TUNING_VARIABLES, Conditions, Policy

_OTHER_JOBS_VARIABLES = (
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
"""Variables that a rank does not inherit: left over from another job, they would make it join that job."""
_OTHER_JOBS_PREFIXES = ("RAY_", "TORCHELASTIC_", "DEEPSPEED_", "DS_", "PACELINE_")
"""Beginnings of the names of further variables that a rank does not inherit."""
_INHERITED = ("PACELINE_DATA",)
"""Variables that a rank inherits although their names have such a beginning."""
_VISIBLE = "CUDA_VISIBLE_DEVICES"


def scripts_dir() -> Path:
    """Return the folder of the commands that were installed beside this Python."""
    return Path(sysconfig.get_path("scripts"))


def visible_accelerators() -> list[str] | None:
    """Return the accelerators in CUDA_VISIBLE_DEVICES, in order; None when it is not set, so that all are visible."""
    visible = os.environ.get(_VISIBLE)
    return None if visible is None else [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]


def accelerator_names(devices: Sequence[int]) -> tuple[str, ...]:
    """Return CUDA's names of accelerators that are given by their positions among the visible ones."""
    visible = visible_accelerators()
    return tuple(str(position) if visible is None else visible[position] for position in devices)


def base_environment(
    conditions: Conditions,
    tier: str,
    temp_dir: Path,
    markers: dict[str, str],
    import_path: str | None = None,
    accelerators: tuple[str, ...] = (),
) -> dict[str, str]:
    """Return the complete environment of a trial's processes before its launcher adds to it.

    ``markers``: variables by which the processes of a trial and of a job are found.
    """
    python_path = [p for p in (import_path, os.environ.get("PYTHONPATH")) if p]
    dropped = _OTHER_JOBS_PREFIXES + (TUNING_VARIABLES if conditions.policy is Policy.NORMALISED else ())
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in _OTHER_JOBS_VARIABLES and (name in _INHERITED or not name.startswith(dropped))
    }
    return {
        **inherited,
        **conditions.environment(),
        # The same PATH for prebuild and ranks: with another compiler or ninja DeepSpeed builds its operators again.
        "PATH": f"{scripts_dir()}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "TORCH_EXTENSIONS_DIR": str(operator_cache()),
        "TMPDIR": str(temp_dir),
        "DS_ACCELERATOR": "cuda" if tier == "gpu" else "cpu",
        **({_VISIBLE: ",".join(accelerators)} if accelerators else {}),
        # All ranks are on one machine, and its host name may resolve to 127.0.1.1 or to nothing.
        "GLOO_SOCKET_IFNAME": "lo",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONUNBUFFERED": "1",
        **({"PYTHONPATH": os.pathsep.join(python_path)} if python_path else {}),
        **markers,
    }


def cache_dir() -> Path:
    """Return Paceline's cache folder: ``$XDG_CACHE_HOME/paceline`` or ``~/.cache/paceline``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paceline"


def state_dir() -> Path:
    """Return Paceline's state folder: ``$XDG_STATE_HOME/paceline`` or ``~/.local/state/paceline``."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "paceline"


@cache
def operator_cache() -> Path:
    """Return the folder of compiled operators.

    Its name is a digest of CPU, compiler and package versions, because operators are built with -march=native.
    """
    versions = (installed_version(p) or "none" for p in ("torch", "deepspeed", "ninja"))
    parts = [_cpu_model_and_flags(), _compiler_version(), *versions]
    key = hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()
    return cache_dir() / "operators" / key


def _cpu_model_and_flags() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    fields = ("model name", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(fields)))


def _compiler_version() -> str:
    compiler = os.environ.get("CXX") or "g++"
    if shutil.which(compiler) is None:
        return "none"
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return version.stdout.partition("\n")[0]
