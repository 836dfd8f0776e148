"""Chooses the samples of every rank and step by global index, so that every engine trains on the same samples."""

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from paceline.schema.trial import Cell
from paceline.workloads.contract import SampleIndices


@dataclass(frozen=True)
class StepSamples:
    """The samples of one rank in one optimiser step."""

    micro_batches: list[SampleIndices]
    padded: int
    """Number of samples in this share that only fill up the epoch's last global batch."""


@dataclass
class Sampler:
    """Shuffles each epoch by (seed, epoch) and cuts it into global batches, of which ranks get equal contiguous shares.

    Raises ValueError when there are fewer samples than one global batch and incomplete batches are dropped.
    """

    samples: int
    micro_batch: int
    accumulation: int
    rank: int
    ranks: int
    seed: int
    incomplete_batch: Literal["drop", "pad"]
    permutation: int = 0
    """Seed of a shuffle within each micro-batch, which changes rounding only; 0 keeps the order."""

    @classmethod
    def of(cls, cell: Cell, available: int, rank: int, seed: int, permutation: int = 0) -> "Sampler":
        """Return the sampler of one rank of a cell; the cell may limit training to its workload's first samples."""
        return cls(
            samples=min(available, cell.samples or available),
            micro_batch=cell.micro_batch,
            accumulation=cell.accumulation,
            rank=rank,
            ranks=cell.ranks,
            seed=seed,
            incomplete_batch=cell.incomplete_batch,
            permutation=permutation,
        )

    def __post_init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=16)
        self._epoch = -1
        self._permutation: SampleIndices = np.zeros(0, dtype=np.int64)
        self.global_batch = self.micro_batch * self.accumulation * self.ranks
        full, rest = divmod(self.samples, self.global_batch)
        self.steps_per_epoch = full + (1 if rest and self.incomplete_batch == "pad" else 0)
        self.dropped_per_epoch = rest if self.incomplete_batch == "drop" else 0
        if self.steps_per_epoch == 0:
            raise ValueError(
                f"{self.samples} samples do not fill one global batch of {self.global_batch}: "
                "lower the batch, or set incomplete_batch: pad"
            )

    def step(self, number: int) -> StepSamples:
        """Return this rank's samples of optimiser step ``number`` (counted from 0)."""
        epoch, within = divmod(number, self.steps_per_epoch)
        order = self._order(epoch)
        share = self.micro_batch * self.accumulation
        positions = within * self.global_batch + self.rank * share + np.arange(share)
        rank_indices = order[positions % self.samples]
        self._digest.update(rank_indices.tobytes())
        micro_batches = np.split(rank_indices, self.accumulation)
        if self.permutation:
            draw = np.random.default_rng([self.seed, self.permutation, number])
            micro_batches = [draw.permutation(indices) for indices in micro_batches]
        return StepSamples(micro_batches, int((positions >= self.samples).sum()))

    def _order(self, epoch: int) -> SampleIndices:
        """Return the epoch's permutation, drawn once an epoch, because a shuffle inside a timed step would be timed."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._permutation = np.random.default_rng([self.seed, epoch]).permutation(self.samples).astype(np.int64)
        return self._permutation

    @property
    def digest(self) -> str:
        """Hex digest of all indices returned by ``step`` so far, in order."""
        return self._digest.hexdigest()

    def probe(self) -> SampleIndices:
        """Return one valid index that does not enter the digest."""
        return np.zeros(1, dtype=np.int64)
