"""Time until the command line answers, above that of ``python -c pass``: differences of medians of alternating runs.

python benchmarks/startup.py [--runs 15]
"""

import argparse
import statistics
import subprocess
import sys
from time import perf_counter

from paceline.launchers.environment import scripts_dir

LIMITS_MS = {"--help": 100, "list engines": 250, "list workloads": 250}
"""Most milliseconds above an empty interpreter, for each command; printed beside the figure, without an exit status."""


def main() -> None:
    """Print how much each command's median is above that of an empty interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    commands = {name: [str(scripts_dir() / "paceline"), *name.split()] for name in LIMITS_MS}
    commands["python -c pass"] = [sys.executable, "-c", "pass"]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            start = perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            times[name].append((perf_counter() - start) * 1e3)
    empty = statistics.median(times.pop("python -c pass"))
    print(f"python -c pass  {empty:.0f} ms")
    for name, values in times.items():
        above = statistics.median(values) - empty
        verdict = "within" if above <= LIMITS_MS[name] else "ABOVE"
        print(f"paceline {name:16} +{above:.0f} ms  ({verdict} its {LIMITS_MS[name]} ms)")


if __name__ == "__main__":
    main()
