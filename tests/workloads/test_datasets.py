"""Data sets: which is taken, and what is in it."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from paceline.errors import RequestError
from paceline.workloads import datasets
from paceline.workloads.images import images


def write_idx(path: Path, array: np.ndarray) -> None:
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes()))


def test_fashion_mnist_is_taken_where_its_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "DEBIAN_FASHION_MNIST", tmp_path / "absent")
    monkeypatch.delenv(datasets.DATA_VARIABLE, raising=False)
    assert datasets.choose("auto", ("fashion-mnist", "digits")) == "digits"
    with pytest.raises(RequestError, match="apt-get install dataset-fashion-mnist"):
        datasets.choose("fashion-mnist", ("fashion-mnist", "digits"))
    pixels = np.random.default_rng(0).integers(0, 256, (20, 28, 28), dtype=np.uint8)
    for part in ("train", "t10k"):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", pixels)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", np.arange(20, dtype=np.uint8) % 10)
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))
    assert datasets.choose("auto", ("fashion-mnist", "digits")) == "fashion-mnist"
    found = images("fashion-mnist", 28, 1, 10)
    batch, labels = found.batch(np.array([7, 3]))
    assert found.samples == 20
    assert labels.tolist() == [7, 3]
    assert batch.shape == (2, 1, 28, 28)
    assert float(batch[0, 0, 0, 0]) == pytest.approx((pixels[7, 0, 0] / 255 - 0.286) / 0.353, rel=1e-5)


def test_unknown_data_is_refused() -> None:
    with pytest.raises(RequestError, match="did you mean 'digits'"):
        datasets.choose("digit", ("digits",))
