"""Vision Transformer (Dosovitskiy et al. 2021): the heavy load. Model definition from transformers, no download."""

from typing import Any

import torch
from transformers import ViTConfig, ViTForImageClassification

from paceline.workloads.classification import Classification
from paceline.workloads.contract import OptimiserSettings, SampleIndices
from paceline.workloads.descriptor import Tier
from paceline.workloads.digits import TRAINING_SAMPLES, digits

_SIZES: dict[Tier, dict[str, int]] = {
    # The width of ViT-Tiny (Touvron et al. 2021, DeiT-Ti), on 64-pixel images cut into 8x8 patches: 65 tokens.
    "cpu": {
        "hidden_size": 192,
        "num_hidden_layers": 12,
        "num_attention_heads": 3,
        "intermediate_size": 768,
        "image_size": 64,
        "patch_size": 8,
    },
    # ViT-B/16.
    "gpu": {
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "image_size": 224,
        "patch_size": 16,
    },
}
_CLASSES: dict[Tier, int] = {"cpu": 10, "gpu": 1000}
_GENERATED_SAMPLES = 4096


class ViTWorkload(Classification):
    """cpu: real digits scaled to 64x64 in three equal channels; gpu: generated images of ImageNet's shape."""

    optimiser = OptimiserSettings(name="adamw", learning_rate=1e-4, weight_decay=0.05)

    def __init__(self, tier: Tier) -> None:
        super().__init__(tier)
        self.samples = TRAINING_SAMPLES if tier == "cpu" else _GENERATED_SAMPLES
        self._image_size = _SIZES[tier]["image_size"]

    def build(self) -> Any:
        """Return a new ViTForImageClassification without dropout."""
        config = ViTConfig(
            **_SIZES[self.tier],
            num_channels=3,
            num_labels=_CLASSES[self.tier],
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="sdpa",
        )
        return ViTForImageClassification(config)

    def layers(self, model: Any) -> list[Any]:
        """Return the transformer blocks."""
        return list(model.vit.layers)

    def batch(self, indices: SampleIndices) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images (n, 3, size, size) and labels (n,)."""
        if self.tier == "gpu":
            return self._generated(indices)
        images, labels = digits(self._image_size)
        chosen = torch.from_numpy(indices)
        return images[chosen].expand(-1, 3, -1, -1), labels[chosen]

    def test_batch(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Return the 360 held-out digits; None for generated images."""
        if self.tier == "gpu":
            return None
        images, labels = digits(self._image_size)
        return images[TRAINING_SAMPLES:].expand(-1, 3, -1, -1), labels[TRAINING_SAMPLES:]

    def logits(self, model: Any, images: torch.Tensor) -> torch.Tensor:
        """Return class scores (n, classes)."""
        scores: torch.Tensor = model(pixel_values=images).logits
        return scores

    def _generated(self, indices: SampleIndices) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw each image from its own index, so that any rank makes the same sample."""
        shape = (3, self._image_size, self._image_size)
        images = torch.stack(
            [torch.empty(shape).normal_(generator=torch.Generator().manual_seed(int(i))) for i in indices]
        )
        return images, torch.from_numpy(indices % _CLASSES[self.tier])
