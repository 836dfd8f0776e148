"""A LLaMA-style decoder (Touvron et al. 2023) on bytes; the model's definition is that of transformers."""

from typing import Any, ClassVar

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from paceline.workloads.architectures import without_values
from paceline.workloads.contract import OptimiserSettings, SampleIndices, Workload
from paceline.workloads.descriptor import Tier
from paceline.workloads.text import VOCABULARY, Bytes


class DecoderWorkload(Workload):
    """cpu: 4.9 M parameters, 6 layers of width 256, 128 bytes; gpu: 1.07 B, 16 layers of width 2048, 1,024 bytes."""

    optimiser = OptimiserSettings(name="adamw", learning_rate=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    _length: ClassVar[dict[Tier, int]] = {"cpu": 128, "gpu": 1024}
    _sizes: ClassVar[dict[Tier, dict[str, int]]] = {
        "cpu": {"hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 4, "intermediate_size": 688},
        "gpu": {"hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "intermediate_size": 8192},
    }

    def __init__(self, tier: Tier, dataset: str) -> None:
        super().__init__(tier, dataset)
        self._bytes = Bytes(dataset, self._length[tier])
        self.samples = self._bytes.samples

    def build(self) -> Any:
        """Return a new LlamaForCausalLM; input and output embeddings are not tied."""
        config = LlamaConfig(
            **self._sizes[self.tier],
            vocab_size=VOCABULARY,
            max_position_embeddings=self._length[self.tier],
            use_cache=False,
            attn_implementation="sdpa",
        )
        return without_values(LlamaForCausalLM, config)

    def layers(self, model: Any) -> list[Any]:
        """Return the decoder blocks."""
        return list(model.model.layers)

    def batch(self, indices: SampleIndices) -> tuple[torch.Tensor]:
        """Return sequences of bytes, int64, shape (n, length + 1)."""
        return self._bytes.batch(indices)

    def loss(self, model: Any, batch: Any) -> torch.Tensor:
        """Return the mean cross-entropy of predicting every next byte."""
        (sequences,) = batch
        logits = model(input_ids=sequences[:, :-1]).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), sequences[:, 1:].flatten())
