"""Real data that needs no download: scikit-learn's 1,797 handwritten digits (UCI Optical Recognition, 8x8 pixels)."""

from functools import cache

import numpy as np
import torch
from sklearn.datasets import load_digits

TRAINING_SAMPLES = 1437
"""The other 360 (a fifth) are held out; the split is a fixed permutation, the same for every engine and seed."""

_MEAN, _STD = 0.3, 0.38
"""Of the pixels in 0..1, rounded: close enough to bring inputs to zero mean and unit variance."""


@cache
def digits(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return all images as fp32 (1797, 1, size, size), normalised, and labels int64 (1797,); training ones first."""
    raw = load_digits()
    order = np.random.default_rng(0).permutation(len(raw.target))
    images = torch.from_numpy(raw.images[order].astype(np.float32) / 16.0).unsqueeze(1)
    images = torch.nn.functional.interpolate(images, size=(size, size), mode="bilinear", align_corners=False)
    return (images - _MEAN) / _STD, torch.from_numpy(raw.target[order].astype(np.int64))
