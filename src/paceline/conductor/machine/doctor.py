"""The checks of ``doctor``. What needs a framework runs as a child process, as everywhere on the conductor's side."""

import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from paceline.conductor.machine.inventory import inspect_machine
from paceline.conductor.machine.leftovers import (
    BUILD_PATIENCE_S,
    SHARED_MEMORY,
    make_temp_dir,
    remove_build_locks,
    remove_temp_dir,
)
from paceline.launchers.environment import base_environment, cache_dir, operator_cache, scripts_dir, state_dir
from paceline.net import listened_on
from paceline.registry import INSTALL_LINES, missing_modules
from paceline.schema.conditions import GIB, MIB, Conditions
from paceline.schema.model import Model

SMALLEST_SHARED_MEMORY_BYTES = 512 * MIB
"""Ray's object store (80 MiB here), DeepSpeed's 64 MiB a rank, DataLoader workers; containers often give 64 MB."""
PROBE_PATIENCE_S = 120
DEFAULT_PORT = 29500


class Check(Model):
    """One finding and the line that mends it."""

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    fix: str | None = None


def diagnose() -> list[Check]:
    """Return all checks, cheap ones first."""
    return [*_packages(), *_tools(), *_cpus(), *_places(), *_network(), *_operators(), *_probes()]


def prebuild_operators(say: Callable[[str], None]) -> None:
    """Compile DeepSpeed's shared-memory operator into our own cache, outside of any timing."""
    if missing_modules(("torch", "deepspeed")):
        say("deepspeed is not installed: nothing to prebuild")
        return
    remove_build_locks(operator_cache())
    if _operator_built():
        say(f"operators are built already: {operator_cache()}")
        return
    say("building DeepSpeed's operators (about half a minute, once) ...")
    status, output = _child("paceline.probes.prebuild", BUILD_PATIENCE_S)
    say(f"built: {operator_cache()}" if status == 0 else f"the build failed:\n{output[-3000:]}")


def _packages() -> Iterator[Check]:
    supported = sys.version_info >= (3, 11)
    yield Check(
        name="python",
        status="ok" if supported else "fail",
        found=sys.version.split()[0],
        fix=None if supported else "install Python 3.11 or newer",
    )
    for package, module in (
        ("torch", "torch"),
        ("deepspeed", "deepspeed"),
        ("ray", "ray"),
        ("transformers", "transformers"),
        ("scikit-learn", "sklearn"),
    ):
        try:
            yield Check(name=package, status="ok", found=version(package))
        except PackageNotFoundError:
            yield Check(name=package, status="warn", found="not installed", fix=INSTALL_LINES[module])


def _tools() -> Iterator[Check]:
    search = f"{scripts_dir()}:{_path()}"
    for name, fix, why in (
        ("git", "apt-get install git", "a clone"),
        ("make", "apt-get install make", "`make demo` and `make test`"),
        ("g++", "apt-get install g++", "DeepSpeed's operators"),
        ("ninja", "pip install ninja", "DeepSpeed's operators"),
    ):
        found = shutil.which(name, path=search)
        yield Check(
            name=name,
            status="ok" if found else "warn",
            found=found or f"absent (needed for {why})",
            fix=None if found else fix,
        )
    header = Path(sysconfig.get_path("include")) / "Python.h"
    there = header.exists()
    yield Check(
        name="python headers",
        status="ok" if there else "warn",
        found=str(header) if there else f"{header} is absent",
        fix=None if there else "apt-get install python3-dev",
    )
    numactl = shutil.which("numactl", path=search)
    yield Check(
        name="numactl", status="ok", found=numactl or "absent (Paceline pins ranks itself and does not need it)"
    )
    hostfile = Path("/job/hostfile")
    yield Check(
        name="stray hostfile",
        status="warn" if hostfile.exists() else "ok",
        found=f"{hostfile} exists: a plain `deepspeed` would use ssh (Paceline names another)"
        if hostfile.exists()
        else "none",
        fix=f"remove {hostfile}" if hostfile.exists() else None,
    )


def _cpus() -> Iterator[Check]:
    machine = inspect_machine()
    ray_says = (
        _child("paceline.probes.ray_cpus", PROBE_PATIENCE_S)[1].strip()
        if not missing_modules(("ray",))
        else "not installed"
    )
    counts = (
        f"os {machine.cpus_os}, affinity {machine.cpus_affinity}, "
        f"cgroup {'no limit' if machine.cpus_cgroup is None else f'{machine.cpus_cgroup:g}'}, Ray {ray_says}"
    )
    usable = len(machine.cpu_devices)
    enough = usable >= 2
    yield Check(
        name="cpus",
        status="ok" if enough else "warn",
        found=f"{counts}; Paceline uses {usable}",
        fix=None if enough else "give the container or task set at least two cores: one rank a core",
    )
    if ray_says.isdigit() and int(ray_says) != usable:
        yield Check(
            name="ray's cpu count",
            status="warn",
            found=f"Ray would take {ray_says}, {usable} are usable",
            fix="none needed here (Paceline says num_cpus); in your own code pass num_cpus to ray.init",
        )
    limit = machine.memory_limit_bytes or machine.memory_bytes
    enough = limit >= 8 * GIB
    yield Check(
        name="memory",
        status="ok" if enough else "warn",
        found=f"{limit / GIB:.1f} GiB usable",
        fix=None if enough else "quick needs about 8 GiB",
    )
    yield Check(name="gpus", status="ok", found=", ".join(machine.gpu_names) or "none: the cpu tier is used")


def _places() -> Iterator[Check]:
    size = shutil.disk_usage(SHARED_MEMORY).total
    enough = size >= SMALLEST_SHARED_MEMORY_BYTES
    yield Check(
        name="/dev/shm",
        status="ok" if enough else "fail",
        found=f"{size / GIB:.2f} GiB",
        fix=None if enough else "docker run --shm-size=1g, or: mount -o remount,size=1G /dev/shm",
    )
    stale = [e.name for e in SHARED_MEMORY.iterdir() if e.name.startswith("deepspeed_allreduce_buffer_")]
    yield Check(
        name="stale segments",
        status="warn" if stale else "ok",
        found=f"{len(stale)} of DeepSpeed in /dev/shm",
        fix="rm /dev/shm/deepspeed_allreduce_buffer_* (when no DeepSpeed job runs)" if stale else None,
    )
    for name, folder in (("cache folder", cache_dir()), ("state folder", state_dir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".probe").touch()
            (folder / ".probe").unlink()
            yield Check(name=name, status="ok", found=str(folder))
        except OSError as error:
            variable = "XDG_CACHE_HOME" if name == "cache folder" else "XDG_STATE_HOME"
            yield Check(
                name=name,
                status="fail",
                found=f"{folder}: {error.strerror}",
                fix=f"set {variable} to a writable folder",
            )


def _network() -> Iterator[Check]:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            yield Check(name="loopback ports", status="ok", found="can listen on 127.0.0.1")
    except OSError as error:
        yield Check(name="loopback ports", status="fail", found=str(error), fix="allow listening on 127.0.0.1")
    taken = listened_on(DEFAULT_PORT)
    yield Check(
        name=f"port {DEFAULT_PORT}",
        status="warn" if taken else "ok",
        found="in use: another training may be running, which disturbs figures (Paceline takes other ports)"
        if taken
        else "free",
        fix="end the other job before measuring" if taken else None,
    )


def _operators() -> Iterator[Check]:
    if missing_modules(("deepspeed",)):
        return
    built = _operator_built()
    yield Check(
        name="deepspeed operators",
        status="ok" if built else "warn",
        found=f"built in {operator_cache()}" if built else "not built: the first trial would compile for half a minute",
        fix=None if built else "paceline doctor --fix",
    )


def _probes() -> Iterator[Check]:
    if missing_modules(("torch",)):
        return
    status, output = _child("paceline.probes.gloo_average", PROBE_PATIENCE_S)
    lines = output.strip().splitlines() or ["no answer"]
    # Libraries may warn after the answer, while ranks leave.
    answer = next((line for line in lines if line.startswith("ddp ")), lines[-1])
    right = status == 0 and answer == "ddp 1.5 fsdp2 1.5"
    yield Check(
        name="gloo averages 1 and 2",
        status="ok" if right else "fail",
        found=answer,
        fix=None if right else "gradients would be wrong (pytorch#162338): pip install 'torch>=2.13'",
    )


def _operator_built() -> bool:
    return any(operator_cache().rglob("deepspeed_shm_comm*.so"))


def _child(module: str, patience_s: float) -> tuple[int, str]:
    """Run a driver in the environment of ranks; return (exit status, output); a time-out is status -1."""
    temp_dir = make_temp_dir()
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            env=base_environment(Conditions(), "cpu", temp_dir, {}),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patience_s,
            check=False,
            cwd=temp_dir,
        )
    except subprocess.TimeoutExpired:
        return -1, f"no answer within {patience_s:g} s"
    finally:
        remove_temp_dir(temp_dir)
    return done.returncode, done.stdout


def _path() -> str:
    return base_environment(Conditions(), "cpu", Path("/tmp"), {})["PATH"]
