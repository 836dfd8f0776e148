"""ResNet (He et al. 2016): a heavy load with batch statistics; the model's definition is that of transformers."""

from typing import Any, ClassVar

import torch
from transformers import ResNetConfig, ResNetForImageClassification

from paceline.workloads.architectures import without_values
from paceline.workloads.classification import Classification
from paceline.workloads.contract import OptimiserSettings
from paceline.workloads.descriptor import Tier


class ResNetWorkload(Classification):
    """cpu: ResNet-18 (basic blocks, depths 2-2-2-2, widths 64 to 512) on 64 pixels; gpu: ResNet-50 on 224 pixels."""

    image_size = {"cpu": 64, "gpu": 224}
    optimiser = OptimiserSettings(name="sgd", learning_rate=0.01, momentum=0.9, weight_decay=1e-4)
    _sizes: ClassVar[dict[Tier, dict[str, Any]]] = {
        "cpu": {"layer_type": "basic", "depths": [2, 2, 2, 2], "hidden_sizes": [64, 128, 256, 512]},
        "gpu": {"layer_type": "bottleneck", "depths": [3, 4, 6, 3], "hidden_sizes": [256, 512, 1024, 2048]},
    }

    def build(self) -> Any:
        """Return a new ResNetForImageClassification."""
        config = ResNetConfig(**self._sizes[self.tier], embedding_size=64, num_labels=self.classes[self.tier])
        return without_values(ResNetForImageClassification, config)

    def layers(self, model: Any) -> list[Any]:
        """Return the residual blocks."""
        return [block for stage in model.resnet.encoder.stages for block in stage.layers]

    def logits(self, model: Any, pixels: torch.Tensor) -> torch.Tensor:
        """Return class scores (n, classes)."""
        scores: torch.Tensor = model(pixel_values=pixels).logits
        return scores
