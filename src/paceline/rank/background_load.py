"""Counters of CPU time of the trial's cores and processes, read from /proc before and after a timed window.

Core time that no process of the trial has used was used by others: the background load.
"""

import os
import resource
from pathlib import Path
from time import perf_counter_ns

from paceline.processes import marked_processes
from paceline.schema.records import Activity

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_GUEST = 8
"""Columns of /proc/stat, in ticks; those from guest time on are left out, because user time already includes them."""
_FREQUENCY = "/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq"


def read(cores: list[int], tree_marker: str | None) -> Activity:
    """Return the counters' present values; with a marker, for the trial's processes, it takes some milliseconds."""
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
    """Return seconds since boot in which these cores were busy, and which the hypervisor took from them (steal)."""
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
            continue  # the process has ended meanwhile
        total += sum(int(x) for x in fields[11:15])
    return total * _TICK_S


def _frequency_mhz(cores: list[int]) -> float | None:
    """Return the mean clock frequency of the cores in MHz, or None where the machine does not report it."""
    try:
        return sum(int(Path(_FREQUENCY.format(core=core)).read_text()) for core in cores) / len(cores) / 1e3
    except (OSError, ValueError, ZeroDivisionError):
        return None
