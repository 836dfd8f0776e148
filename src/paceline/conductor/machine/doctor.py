"""The checks of ``paceline doctor``. A check that needs a framework runs as a probe, so nothing is imported here."""

import shutil
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from paceline.conductor.machine.inventory import inspect_machine
from paceline.conductor.machine.leftovers import BUILD_PATIENCE_S, SHARED_MEMORY, remove_build_locks
from paceline.conductor.machine.probe import run_probe
from paceline.launchers.environment import base_environment, cache_dir, operator_cache, scripts_dir, state_dir
from paceline.net import listened_on
from paceline.registry import INSTALL_LINES, installed_version, missing_modules
from paceline.schema.conditions import GIB, MIB, Conditions
from paceline.schema.model import Model

SMALLEST_SHARED_MEMORY_BYTES = 512 * MIB
"""Smallest /dev/shm with room for Ray's object store (80 MiB under normalised conditions), DeepSpeed's 64 MiB a rank
and DataLoader workers. Containers often have only 64 MB."""
PROBE_PATIENCE_S = 120
"""Longest time that a check waits for its probe."""
DEFAULT_PORT = 29500
"""Port on which torch.distributed meets when no other is named."""


class Check(Model):
    """What one check has found, and how to mend it."""

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    fix: str | None = None


def diagnose() -> list[Check]:
    """Run all checks, cheap ones first, and return them."""
    return [
        *_packages(),
        *_tools(),
        *_cpus_and_memory(),
        *_folders(),
        *_network(),
        *_operators(),
        *_gradient_averages(),
    ]


def prebuild_operators(say: Callable[[str], None]) -> None:
    """Compile DeepSpeed's shared-memory operator into our own cache, so that no trial compiles it while it is timed."""
    if missing_modules(("torch", "deepspeed")):
        say("deepspeed is not installed: nothing to prebuild")
        return
    remove_build_locks(operator_cache())
    if _operator_built():
        say(f"operators are built already: {operator_cache()}")
        return
    say("building DeepSpeed's operators (about half a minute, once) ...")
    status, output = _status_and_output("paceline.probes.prebuild", BUILD_PATIENCE_S)
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
        version = installed_version(package)
        if version is None:
            yield Check(name=package, status="warn", found="not installed", fix=INSTALL_LINES[module])
        else:
            yield Check(name=package, status="ok", found=version)


def _tools() -> Iterator[Check]:
    search_path = f"{scripts_dir()}:{_ranks_path()}"
    for name, fix, needed_for in (
        ("git", "apt-get install git", "a clone"),
        ("make", "apt-get install make", "`make demo` and `make test`"),
        ("g++", "apt-get install g++", "DeepSpeed's operators"),
        ("ninja", "pip install ninja", "DeepSpeed's operators"),
    ):
        tool = shutil.which(name, path=search_path)
        yield Check(
            name=name,
            status="ok" if tool else "warn",
            found=tool or f"absent (needed for {needed_for})",
            fix=None if tool else fix,
        )
    header = Path(sysconfig.get_path("include")) / "Python.h"
    has_headers = header.exists()
    yield Check(
        name="python headers",
        status="ok" if has_headers else "warn",
        found=str(header) if has_headers else f"{header} is absent",
        fix=None if has_headers else "apt-get install python3-dev",
    )
    numactl = shutil.which("numactl", path=search_path)
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


def _cpus_and_memory() -> Iterator[Check]:
    machine = inspect_machine()
    ray_cpus = (
        _status_and_output("paceline.probes.ray_cpus", PROBE_PATIENCE_S)[1].strip()
        if not missing_modules(("ray",))
        else "not installed"
    )
    counts = (
        f"os {machine.cpus_os}, affinity {machine.cpus_affinity}, "
        f"cgroup {'no limit' if machine.cpus_cgroup is None else f'{machine.cpus_cgroup:g}'}, Ray {ray_cpus}"
    )
    usable = len(machine.cpu_devices)
    enough_cpus = usable >= 2
    yield Check(
        name="cpus",
        status="ok" if enough_cpus else "warn",
        found=f"{counts}; Paceline uses {usable}",
        fix=None if enough_cpus else "give the container or task set at least two cores: one rank a core",
    )
    if ray_cpus.isdigit() and int(ray_cpus) != usable:
        yield Check(
            name="ray's cpu count",
            status="warn",
            found=f"Ray would take {ray_cpus}, {usable} are usable",
            fix="none needed here (Paceline says num_cpus); in your own code pass num_cpus to ray.init",
        )
    limit = machine.memory_limit_bytes or machine.memory_bytes
    enough_memory = limit >= 8 * GIB
    yield Check(
        name="memory",
        status="ok" if enough_memory else "warn",
        found=f"{limit / GIB:.1f} GiB usable",
        fix=None if enough_memory else "quick needs about 8 GiB",
    )
    yield Check(name="gpus", status="ok", found=", ".join(machine.gpu_names) or "none: the cpu tier is used")


def _folders() -> Iterator[Check]:
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


def _gradient_averages() -> Iterator[Check]:
    if missing_modules(("torch",)):
        return
    status, output = _status_and_output("paceline.probes.gloo_average", PROBE_PATIENCE_S)
    lines = output.strip().splitlines() or ["no answer"]
    # Libraries may print warnings after the answer, while the ranks leave their group.
    answer = next((line for line in lines if line.startswith("ddp ")), lines[-1])
    correct = status == 0 and answer == "ddp 1.5 fsdp2 1.5"
    yield Check(
        name="gloo averages 1 and 2",
        status="ok" if correct else "fail",
        found=answer,
        fix=None if correct else "gradients would be wrong (pytorch#162338): pip install 'torch>=2.13'",
    )


def _operator_built() -> bool:
    return any(operator_cache().rglob("deepspeed_shm_comm*.so"))


def _status_and_output(module: str, patience_s: float) -> tuple[int, str]:
    """Run a probe; return its exit status and all that it printed. A time-out is status -1."""
    answer = run_probe(module, (), patience_s, merge_errors=True)
    if answer is None:
        return -1, f"no answer within {patience_s:g} s"
    return answer.returncode, answer.stdout


def _ranks_path() -> str:
    """Return the PATH that ranks have."""
    return base_environment(Conditions(), "cpu", Path("/tmp"), {})["PATH"]
