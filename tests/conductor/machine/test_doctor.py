"""The checks of ``doctor``: each says what it found on this machine, and how to mend what is wrong."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paceline.conductor.machine import doctor
from paceline.conductor.machine.doctor import Check
from paceline.launchers.environment import operator_cache
from paceline.net import free_port

Diagnose = Callable[..., dict[str, Check]]


@pytest.fixture
def diagnosed(monkeypatch: pytest.MonkeyPatch) -> Diagnose:
    """Run the checks by name, with the frameworks that are named; without them no probe is started."""

    def diagnose(*frameworks: str) -> dict[str, Check]:
        monkeypatch.setattr(doctor, "missing_modules", lambda modules: [m for m in modules if m not in frameworks])
        return {check.name: check for check in doctor.diagnose()}

    return diagnose


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder, of which nothing is remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    operator_cache.cache_clear()
    yield tmp_path / "cache"
    operator_cache.cache_clear()


def test_all_checks_have_a_fix_exactly_where_something_is_wrong(diagnosed: Diagnose) -> None:
    checks = diagnosed()
    assert all((check.fix is None) == (check.status == "ok") for check in checks.values())
    assert checks["python"].found == sys.version.split()[0]
    assert checks["loopback ports"].status == "ok"
    assert "gloo averages 1 and 2" not in checks, "nothing is asked of a framework that is not there"


def test_tools_are_looked_for_where_ranks_look(
    diagnosed: Diagnose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    checks = diagnosed()
    assert (checks["g++"].status, checks["g++"].found) == ("ok", str(compiler))
    assert (checks["git"].status, checks["git"].fix) == ("warn", "apt-get install git")
    assert checks["numactl"].status == "ok", "it is not needed"


def test_cores_are_those_that_this_process_may_use(diagnosed: Diagnose) -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        cpus = diagnosed()["cpus"]
    finally:
        os.sched_setaffinity(0, allowed)
    assert cpus.status == "warn"
    assert f"os {os.cpu_count()}, affinity 1" in cpus.found
    assert cpus.found.endswith("uses 1")
    assert "two cores" in (cpus.fix or "")


def test_gpus_are_those_that_the_user_lets_cuda_see(diagnosed: Diagnose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert diagnosed()["gpus"].found.startswith("none")


@pytest.mark.parametrize(("variable", "name"), [("XDG_CACHE_HOME", "cache folder"), ("XDG_STATE_HOME", "state folder")])
def test_folders_must_be_writable(
    diagnosed: Diagnose,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    name: str,
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    assert diagnosed()[name] == Check(name=name, status="ok", found=str(tmp_path / "paceline"))
    assert list((tmp_path / "paceline").iterdir()) == []
    monkeypatch.setenv(variable, "/proc/nothing")
    check = diagnosed()[name]
    assert check.status == "fail"
    assert check.found.startswith("/proc/nothing/paceline")
    assert variable in (check.fix or "")


def test_segments_that_deepspeed_left_behind_are_counted(
    diagnosed: Diagnose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "SHARED_MEMORY", tmp_path)
    assert diagnosed()["stale segments"].status == "ok"
    for name in ("deepspeed_allreduce_buffer_0", "deepspeed_allreduce_buffer_1", "somebody-elses"):
        (tmp_path / name).touch()
    stale = diagnosed()["stale segments"]
    assert stale.status == "warn"
    assert stale.found.startswith("2 ")
    assert "rm " in (stale.fix or "")


def test_too_little_shared_memory_fails(diagnosed: Diagnose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SMALLEST_SHARED_MEMORY_BYTES", 2**60)
    check = diagnosed()["/dev/shm"]
    assert check.status == "fail"
    assert "--shm-size" in (check.fix or "")


def test_a_port_that_is_in_use_is_told(diagnosed: Diagnose, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setattr(doctor, "DEFAULT_PORT", port)
    with socket.create_server(("127.0.0.1", port)):
        assert diagnosed()[f"port {port}"].status == "warn"
    assert diagnosed()[f"port {port}"].found == "free"


def test_operators_that_are_not_built_are_told_with_the_command_that_builds_them(
    diagnosed: Diagnose, cache: Path
) -> None:
    assert "deepspeed operators" not in diagnosed()
    check = diagnosed("deepspeed")["deepspeed operators"]
    assert (check.status, check.fix) == ("warn", "paceline doctor --fix")
    built = operator_cache() / "deepspeed_shm_comm" / "deepspeed_shm_comm.so"
    built.parent.mkdir(parents=True)
    built.touch()
    assert built.is_relative_to(cache)
    assert diagnosed("deepspeed")["deepspeed operators"].status == "ok"


def test_operators_that_are_built_are_not_built_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "missing_modules", lambda _modules: [])
    built = operator_cache() / "deepspeed_shm_comm.so"
    built.parent.mkdir(parents=True)
    built.touch()
    said: list[str] = []
    doctor.prebuild_operators(said.append)
    (line,) = said
    assert line.endswith(str(operator_cache()))


def test_without_deepspeed_nothing_is_built(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "missing_modules", lambda modules: [m for m in modules if m == "deepspeed"])
    said: list[str] = []
    doctor.prebuild_operators(said.append)
    assert "not installed" in said[0]
    assert not cache.exists()
