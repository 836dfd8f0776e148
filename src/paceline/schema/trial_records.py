"""The raw records of a trial, as read from its files: all that results are derived from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paceline.schema.records import Ending, JobRecord, LoadRecord, RankRecord
from paceline.schema.trial import Trial


@dataclass(frozen=True)
class TrialRecords:
    """The raw records of a trial, as read from its files: all that results are derived from."""

    trial: Trial
    ending: Ending
    load: LoadRecord
    jobs: list[JobRecord]
    ranks: dict[int, list[RankRecord]]
    """Job id to the records of its ranks."""
    bounds: dict[tuple[int, int], NDArray[np.int64]]
    """(job id, rank) to step boundaries in ns, shape (steps, 2)."""
    proof_arrays: Mapping[str, NDArray[np.float64]]
    """What rank 0 of job 0 kept of the weights, by name; empty where nothing was proven."""
