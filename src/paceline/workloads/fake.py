"""A workload without a model, for the self-tests of the harness only."""

from typing import Any

from paceline.workloads.contract import SampleIndices, Workload
from paceline.workloads.descriptor import Tier

FLOPS_PER_SAMPLE_TRAINING = 1000.0


class FakeWorkload(Workload):
    """A batch is its own list of sample numbers."""

    def __init__(self, tier: Tier, dataset: str) -> None:
        super().__init__(tier, dataset)
        self.samples = 3200

    def build(self) -> None:
        """Return nothing: there is no model."""

    def batch(self, indices: SampleIndices) -> list[int]:
        """Return the sample numbers themselves."""
        return [int(i) for i in indices]

    def loss(self, model: Any, batch: Any) -> float:  # noqa: ARG002 - the contract's form
        """Return a constant."""
        return 1.0

    def stated_flops_per_sample(self) -> float:
        """Return a stated figure, for the self-test of utilisation."""
        return FLOPS_PER_SAMPLE_TRAINING
