"""``python -m paceline.drivers.fake_agent RANKS JOB.json``: start fake ranks and report the first failure."""

import os
import subprocess
import sys


def main(ranks: int, job_file: str) -> int:
    """Start the ranks and wait for all; return the first exit status that is not 0 (a signal as 128 + number), or 0."""
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "paceline.rank", job_file],
            env=os.environ | {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank)},
        )
        for rank in range(ranks)
    ]
    codes = [child.wait() for child in children]
    return next((128 - code if code < 0 else code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
