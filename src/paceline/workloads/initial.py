"""Initial values that depend on (seed, parameter name, shape) only, so that sharding cannot change them."""

import hashlib
import math

import torch

EMBEDDING_STD = 0.02
"""Standard deviation for parameters without a fan-in (class token, position embeddings), as ViT and BERT use."""


def initial_value(name: str, shape: torch.Size, seed: int) -> torch.Tensor:
    """Return the fp32 CPU tensor that parameter ``name`` starts from.

    Weights of two or more dimensions: uniform within 1/sqrt(fan-in), PyTorch's own default for linear and convolution
    layers; one-dimensional weights (norms): ones; biases: zeros; anything else: normal with ``EMBEDDING_STD``.
    """
    generator = torch.Generator().manual_seed(_generator_seed(name, seed))
    leaf = name.rpartition(".")[2]
    if leaf == "weight" and len(shape) >= 2:
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        return torch.empty(shape).uniform_(-bound, bound, generator=generator)
    if leaf == "weight":
        return torch.ones(shape)
    if leaf == "bias":
        return torch.zeros(shape)
    return torch.empty(shape).normal_(0.0, EMBEDDING_STD, generator=generator)


def _generator_seed(name: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest(), "big") >> 1
