"""Images of a data set in the shape that a model takes: real digits, real Fashion-MNIST, or generated images."""

import gzip
from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import interpolate

from paceline.workloads.contract import SampleIndices
from paceline.workloads.datasets import GENERATED, fashion_mnist_dir

Batch = tuple[torch.Tensor, torch.Tensor]
"""Images fp32 (n, channels, size, size), normalised; labels int64 (n,)."""

DIGITS_FOR_TRAINING = 1437
"""Digits used for training, of 1,797; the other fifth is held out. The split is the same for every engine and seed."""

_DIGITS_MEAN, _DIGITS_STD = 0.3, 0.38
_FASHION_MEAN, _FASHION_STD = 0.286, 0.353
"""Mean and standard deviation of pixels in 0..1, rounded: they bring inputs close to zero mean and unit variance."""

_POOL = 64
"""Different images that generated data consist of."""
_GENERATED_SAMPLES = 4096


class Images(ABC):
    """Training images by index, and held-out images."""

    samples: int

    @abstractmethod
    def batch(self, indices: SampleIndices) -> Batch:
        """Return training images and labels."""

    @abstractmethod
    def test(self) -> Batch | None:
        """Return held-out images and labels, or None where there are none."""


def images(dataset: str, size: int, channels: int, classes: int) -> Images:
    """Return a data set's images, scaled to ``size`` x ``size`` pixels. Raises ValueError for an unknown data set."""
    if dataset == "digits":
        return Digits(size, channels)
    if dataset == "fashion-mnist":
        return FashionMnist(size, channels)
    if dataset == GENERATED:
        return Generated(size, channels, classes)
    raise ValueError(f"unknown image data set {dataset!r}")


class Digits(Images):
    """scikit-learn's 1,797 handwritten digits (UCI Optical Recognition, 8x8 pixels), scaled in advance."""

    samples = DIGITS_FOR_TRAINING

    def __init__(self, size: int, channels: int) -> None:
        self._images, self._labels = _scaled_digits(size)
        self._channels = channels

    def batch(self, indices: SampleIndices) -> Batch:
        """Return training digits."""
        chosen = torch.from_numpy(indices)
        return self._images[chosen].expand(-1, self._channels, -1, -1), self._labels[chosen]

    def test(self) -> Batch:
        """Return the 360 held-out digits."""
        held_out = self._images[DIGITS_FOR_TRAINING:]
        return held_out.expand(-1, self._channels, -1, -1), self._labels[DIGITS_FOR_TRAINING:]


class FashionMnist(Images):
    """Fashion-MNIST (Xiao et al. 2017): 60,000 training and 10,000 test images of 28x28, scaled batch by batch."""

    def __init__(self, size: int, channels: int) -> None:
        folder = fashion_mnist_dir()
        if folder is None:
            raise FileNotFoundError("Fashion-MNIST was planned, but its files are no longer on this machine")
        self._size, self._channels = size, channels
        self._train, self._test = (_read_pair(folder, part) for part in ("train", "t10k"))
        self.samples = len(self._train[1])

    def batch(self, indices: SampleIndices) -> Batch:
        """Return training images and labels."""
        return self._shape(self._train[0][indices], self._train[1][indices])

    def test(self) -> Batch:
        """Return the first thousand test images: enough for an accuracy, few enough for a single forward pass."""
        return self._shape(self._test[0][:1000], self._test[1][:1000])

    def _shape(self, pixels: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Batch:
        normalised = (torch.from_numpy(pixels).float().unsqueeze(1) / 255.0 - _FASHION_MEAN) / _FASHION_STD
        scaled = interpolate(normalised, size=(self._size, self._size), mode="bilinear", align_corners=False)
        return scaled.expand(-1, self._channels, -1, -1), torch.from_numpy(labels.astype(np.int64))


class Generated(Images):
    """Noise: every sample is one of a few images generated in advance, so input costs next to nothing."""

    samples = _GENERATED_SAMPLES

    def __init__(self, size: int, channels: int, classes: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self._pool = torch.empty(_POOL, channels, size, size).normal_(generator=generator)
        self._classes = classes

    def batch(self, indices: SampleIndices) -> Batch:
        """Return generated images and labels; both depend on the index only."""
        return self._pool[torch.from_numpy(indices % _POOL)], torch.from_numpy(indices % self._classes)

    def test(self) -> None:
        """Return nothing: noise has no held-out accuracy."""


@cache
def _scaled_digits(size: int) -> Batch:
    from sklearn.datasets import load_digits

    raw = load_digits()
    order = np.random.default_rng(0).permutation(len(raw.target))
    pixels = torch.from_numpy(raw.images[order].astype(np.float32) / 16.0).unsqueeze(1)
    scaled = interpolate(pixels, size=(size, size), mode="bilinear", align_corners=False)
    return (scaled - _DIGITS_MEAN) / _DIGITS_STD, torch.from_numpy(raw.target[order].astype(np.int64))


def _read_pair(folder: Path, part: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    return tuple(_read_idx(next(iter(sorted(folder.glob(f"{part}-{what}*"))))) for what in ("images", "labels"))  # type: ignore[return-value]


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array of an IDX file of bytes. Raises ValueError for a file of another kind.

    Format: two zero bytes, type 8 (unsigned byte), number of dimensions, each dimension as big-endian int32, data.
    """
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if raw[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is not an IDX file of bytes")
    shape = np.frombuffer(raw, dtype=">i4", count=raw[3], offset=4)
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * raw[3]).reshape(shape)
