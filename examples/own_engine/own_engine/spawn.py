"""``python -m own_engine.spawn JOB.json RANKS PORT``: one child a rank, each running Paceline's own rank."""

import os
import sys
from time import perf_counter_ns

import torch.multiprocessing

from paceline.rank.entry import run_rank
from paceline.strategies.contract import Membership


def rank(number: int, job_file: str, ranks: int, port: str) -> None:
    started_ns = perf_counter_ns()
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(ranks)
    )
    run_rank(job_file, Membership.from_environment(), started_ns)


if __name__ == "__main__":
    torch.multiprocessing.spawn(rank, (sys.argv[1], int(sys.argv[2]), sys.argv[3]), nprocs=int(sys.argv[2]))
