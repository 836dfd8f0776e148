"""The common base of image classifiers: images, cross-entropy, number of right answers."""

from abc import abstractmethod
from typing import Any, ClassVar

import torch

from paceline.workloads.contract import SampleIndices, Workload
from paceline.workloads.descriptor import Tier
from paceline.workloads.images import Batch, images


class Classification(Workload):
    """An image classifier; batches are (images fp32 (n, channels, size, size), labels int64 (n,))."""

    image_size: ClassVar[dict[Tier, int]]
    channels: ClassVar[int] = 3
    classes: ClassVar[dict[Tier, int]] = {"cpu": 10, "gpu": 1000}

    def __init__(self, tier: Tier, dataset: str) -> None:
        super().__init__(tier, dataset)
        self._images = images(dataset, self.image_size[tier], self.channels, self.classes[tier])
        self.samples = self._images.samples

    def batch(self, indices: SampleIndices) -> Batch:
        """Return the training images and labels with these indices."""
        return self._images.batch(indices)

    def test_batch(self) -> Batch | None:
        """Return held-out images and labels, or None for generated ones."""
        return self._images.test()

    @abstractmethod
    def logits(self, model: Any, pixels: torch.Tensor) -> torch.Tensor:
        """Return class scores of shape (n, classes)."""

    def loss(self, model: Any, batch: Any) -> torch.Tensor:
        """Return the mean cross-entropy of a batch."""
        pixels, labels = batch
        return torch.nn.functional.cross_entropy(self.logits(model, pixels).float(), labels)

    def correct(self, model: Any, batch: Any) -> int:
        """Return how many samples of a batch have the highest score at their label."""
        pixels, labels = batch
        with torch.no_grad():
            return int((self.logits(model, pixels).argmax(dim=1) == labels).sum())
