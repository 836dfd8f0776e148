"""What this machine is, read from the kernel and NVML: the only module of the conductor that looks for devices."""

import os
import platform
import shutil
import socket
from pathlib import Path

import psutil

from paceline.launchers.environment import visible_accelerators
from paceline.registry import installed_version
from paceline.schema.run import Machine

_UNLIMITED = 2**60
"""Smallest memory limit that means none: cgroup v1 writes a number near 2^63 where there is no limit."""


def inspect_machine() -> Machine:
    """Return the inventory that a run records."""
    affinity = sorted(os.sched_getaffinity(0))
    quota = cgroup_cpus()
    usable = affinity if quota is None else affinity[: max(1, int(quota))]
    return Machine(
        host=socket.gethostname(),
        os=f"{platform.system()} {platform.release()}",
        cpu_model=_cpu_model(),
        cpus_os=os.cpu_count() or 1,
        cpus_affinity=len(affinity),
        cpus_cgroup=quota,
        cpu_devices=tuple(usable),
        gpu_names=tuple(gpu_names()),
        memory_bytes=psutil.virtual_memory().total,
        memory_limit_bytes=cgroup_memory_bytes(),
        dev_shm_bytes=shutil.disk_usage("/dev/shm").total,
    )


def installed_versions() -> dict[str, str]:
    """Return the versions of everything that figures depend on; packages that are not installed are left out."""
    packages = {p: installed_version(p) for p in ("paceline", "torch", "deepspeed", "ray", "transformers", "numpy")}
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        **{package: version for package, version in packages.items() if version is not None},
    }


def gpu_names() -> list[str]:
    """Return the names of NVIDIA GPUs that the user lets CUDA see, in order; empty where there is no driver.

    The list ends before the first visible device that does not exist, as in CUDA itself.
    """
    import pynvml

    visible = visible_accelerators()
    names: list[str] = []
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return names
    try:
        for device in map(str, range(pynvml.nvmlDeviceGetCount())) if visible is None else visible:
            handle = (
                pynvml.nvmlDeviceGetHandleByIndex(int(device))
                if device.isdigit()
                else pynvml.nvmlDeviceGetHandleByUUID(device)
            )
            names.append(str(pynvml.nvmlDeviceGetName(handle)))
    except pynvml.NVMLError:
        return names
    finally:
        pynvml.nvmlShutdown()
    return names


def cgroup_cpus() -> float | None:
    """Return this process's CPU quota in cores (cgroup v2, then v1), or None without one."""
    for folder in _cgroup_folders("cpu"):
        if (v2 := _words(folder / "cpu.max")) and v2[0] != "max":
            return int(v2[0]) / int(v2[1])
        quota, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
        if quota and period and int(quota[0]) > 0:
            return int(quota[0]) / int(period[0])
    return None


def cgroup_memory_bytes() -> int | None:
    """Return this process's memory limit in bytes (cgroup v2, then v1), or None without one."""
    for folder in _cgroup_folders("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            words = _words(folder / name)
            if words and words[0] != "max" and int(words[0]) < _UNLIMITED:
                return int(words[0])
    return None


def _cgroup_folders(controller: str) -> list[Path]:
    """Return this process's own cgroup folder for a controller, then the folders above it, nearest first."""
    folders: list[Path] = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup") / (controllers if controllers else "")
        own = root / path.lstrip("/")
        folders += [own, *(p for p in own.parents if p == root or root in p.parents)]
    return folders


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
