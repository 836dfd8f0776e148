"""``python -m paceline.rank JOB.json``: one rank, as torchrun and the deepspeed launcher start it."""

from time import perf_counter_ns

STARTED_NS = perf_counter_ns()

import sys  # noqa: E402 - the clock is read before anything is imported

from paceline.rank.entry import run_rank  # noqa: E402
from paceline.strategies.contract import Membership  # noqa: E402

if __name__ == "__main__":
    run_rank(sys.argv[1], Membership.from_environment(), STARTED_NS)
