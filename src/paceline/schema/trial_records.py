"""The raw records of a trial, as read from its files: all that results are derived from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paceline.schema.records import Ending, JobRecord, LoadRecord, RankRecord
from paceline.schema.trial import Trial


@dataclass(frozen=True)
class TrialRecords:
    """All raw records of one trial; its result is derived from nothing else."""

    trial: Trial
    ending: Ending
    load: LoadRecord
    jobs: list[JobRecord]
    ranks: dict[int, list[RankRecord]]
    """For each job id, the records of its ranks."""
    bounds: dict[tuple[int, int], NDArray[np.int64]]
    """For each (job id, rank), its step boundaries in ns, shape (steps, 2)."""
    proof_arrays: Mapping[str, NDArray[np.float64]]
    """Sketches that rank 0 of job 0 kept of weights and gradients, by name; empty where nothing was proven."""
