"""What else the machine did during a timed window, read from /proc outside of it: our cores, our trees, the rest."""

import os
import resource
from pathlib import Path
from time import perf_counter_ns

from paceline.processes import marked_processes
from paceline.schema.records import Activity

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_GUEST = 8
"""Columns of /proc/stat; guest time is part of user time already."""
_FREQUENCY = "/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq"


def read(cores: list[int], tree_marker: str | None) -> Activity:
    """Return counters as they stand now; two readings make a difference. Costs a few milliseconds with a marker."""
    busy_s, steal_s = cores_time(cores)
    own = resource.getrusage(resource.RUSAGE_SELF)
    return Activity(
        at_ns=perf_counter_ns(),
        cores=cores,
        busy_s=busy_s,
        steal_s=steal_s,
        own_s=own.ru_utime + own.ru_stime,
        trees_s=trees_time(tree_marker) if tree_marker else None,
        major_faults=own.ru_majflt,
        minor_faults=own.ru_minflt,
        involuntary_switches=own.ru_nivcsw,
        frequency_mhz=_frequency_mhz(cores),
    )


def cores_time(cores: list[int]) -> tuple[float, float]:
    """Return seconds since boot that these cores were busy (steal left out), and that others stole from them."""
    busy, stolen = 0, 0
    wanted = {f"cpu{core}" for core in cores}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *rest = line.split()
        if name in wanted:
            ticks = [int(x) for x in rest[:_GUEST]]
            stolen += ticks[_STEAL]
            busy += sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT] - ticks[_STEAL]
    return busy * _TICK_S, stolen * _TICK_S


def trees_time(marker: str) -> float:
    """Return CPU seconds of all living processes that carry the marker, and of their children that have ended."""
    total = 0
    for process in marked_processes(marker):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # gone meanwhile
        total += sum(int(x) for x in fields[11:15])
    return total * _TICK_S


def _frequency_mhz(cores: list[int]) -> float | None:
    """Return the mean clock of the cores where the machine tells it."""
    try:
        return sum(int(Path(_FREQUENCY.format(core=core)).read_text()) for core in cores) / len(cores) / 1e3
    except (OSError, ValueError, ZeroDivisionError):
        return None
