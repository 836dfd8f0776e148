"""What image classifiers share: cross-entropy, and counting right answers."""

from abc import abstractmethod
from typing import Any

import torch

from paceline.workloads.contract import FlopCount, Workload


class Classification(Workload):
    """Batches are (images fp32 (n, channels, height, width), labels int64 (n,))."""

    @abstractmethod
    def logits(self, model: Any, images: torch.Tensor) -> torch.Tensor:
        """Return class scores of shape (n, classes)."""

    def loss(self, model: Any, batch: Any) -> torch.Tensor:
        """Return the mean cross-entropy of a batch."""
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.logits(model, images), labels)

    def correct(self, model: Any, batch: Any) -> int:
        """Return how many labels of a batch the highest score gets right."""
        images, labels = batch
        with torch.no_grad():
            return int((self.logits(model, images).argmax(dim=1) == labels).sum())

    def flops(self) -> FlopCount:
        """Count matrix products and convolutions, forward and backward, by PyTorch's dispatcher on a plain meta copy.

        Element-wise operations are not counted, as usual in reported model FLOPs.
        """
        import numpy as np
        from torch.utils.flop_counter import FlopCounterMode

        with torch.device("meta"):
            model = self.build()
        images, labels = self.batch(np.arange(1))
        with FlopCounterMode(display=False) as counter:
            self.loss(model, (images.to("meta"), labels.to("meta"))).backward()  # type: ignore[no-untyped-call]
        return FlopCount(
            float(counter.get_total_flops()), "torch.utils.flop_counter, forward and backward, meta device"
        )
