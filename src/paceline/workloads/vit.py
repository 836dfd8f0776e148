"""Vision Transformer (Dosovitskiy et al. 2021): a heavy load; the model's definition is that of transformers."""

from typing import Any, ClassVar

import torch
from transformers import ViTConfig, ViTForImageClassification

from paceline.workloads.architectures import without_values
from paceline.workloads.classification import Classification
from paceline.workloads.contract import OptimiserSettings
from paceline.workloads.descriptor import Tier


class ViTWorkload(Classification):
    """cpu: the width of ViT-Tiny (Touvron et al. 2021, DeiT-Ti) on 64 pixels, 65 tokens; gpu: ViT-B/16."""

    image_size = {"cpu": 64, "gpu": 224}
    optimiser = OptimiserSettings(name="adamw", learning_rate=1e-4, weight_decay=0.05)
    _sizes: ClassVar[dict[Tier, dict[str, int]]] = {
        "cpu": {"hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768, "patch_size": 8},
        "gpu": {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "patch_size": 16},
    }

    def build(self) -> Any:
        """Return a new ViTForImageClassification of twelve layers, without dropout."""
        config = ViTConfig(
            **self._sizes[self.tier],
            num_hidden_layers=12,
            image_size=self.image_size[self.tier],
            num_channels=3,
            num_labels=self.classes[self.tier],
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="sdpa",
        )
        return without_values(ViTForImageClassification, config)

    def layers(self, model: Any) -> list[Any]:
        """Return the transformer blocks."""
        return list(model.vit.layers)

    def logits(self, model: Any, pixels: torch.Tensor) -> torch.Tensor:
        """Return class scores (n, classes)."""
        scores: torch.Tensor = model(pixel_values=pixels).logits
        return scores
