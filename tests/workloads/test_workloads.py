"""Workloads: sizes and FLOPs against published figures, data by index, initial values by name."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from paceline.errors import RequestError
from paceline.strategies.blueprint import parameters_on_meta
from paceline.workloads import datasets
from paceline.workloads.contract import load_workload
from paceline.workloads.flops import count_training_flops
from paceline.workloads.images import images
from paceline.workloads.initial import initial_value
from paceline.workloads.text import standard_library

REAL = {"lenet5": "digits", "vit": "digits", "resnet": "digits", "decoder": "python-stdlib"}


def parameters(name: str, tier: str) -> int:
    with torch.device("meta"):
        model = load_workload(name, tier, "generated").build()  # type: ignore[arg-type]
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("name", "tier", "count"),
    [
        ("lenet5", "cpu", 61_706),
        ("resnet", "gpu", 25_557_032),
        ("vit", "gpu", 86_567_656),
        ("vit", "cpu", 5_390_410),
        ("resnet", "cpu", 11_181_642),
        ("decoder", "cpu", 4_877_568),
    ],
)
def test_models_have_their_published_sizes(name: str, tier: str, count: int) -> None:
    assert parameters(name, tier) == count


def test_flops_agree_with_published_figures() -> None:
    """Training is about three forwards; 2 FLOP a MAC. ResNet-50: 4.1 GMAC, ViT-B/16: 17.6 GMAC at 224 pixels."""
    for name, giga_macs in (("resnet", 4.1), ("vit", 17.6)):
        counted = count_training_flops(load_workload(name, "gpu", "generated"))
        assert counted == pytest.approx(giga_macs * 1e9 * 2 * 3, rel=0.06)


def test_flops_of_lenet5_are_those_by_hand() -> None:
    convolutions = 28 * 28 * 6 * 25 + 10 * 10 * 16 * 150
    full = 400 * 120 + 120 * 84 + 84 * 10
    # Backward is twice forward, but the first layer needs no gradient of its input.
    by_hand = 2 * (3 * (convolutions + full) - 28 * 28 * 6 * 25)
    assert count_training_flops(load_workload("lenet5", "cpu", "generated")) == by_hand


def test_flops_of_the_decoder_follow_6nd() -> None:
    workload = load_workload("decoder", "gpu", "generated")
    assert count_training_flops(workload) == pytest.approx(6 * parameters("decoder", "gpu") * 1024, rel=0.10)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("twin", [False, True])
def test_batches_follow_from_global_indices(name: str, twin: bool) -> None:
    workload = load_workload(name, "cpu", "generated" if twin else REAL[name])
    together = workload.batch(np.array([3, 70, 5]))
    alone = workload.batch(np.array([70]))
    for whole, single in zip(together, alone, strict=True):
        assert torch.equal(whole[1:2], single)
    assert workload.samples > 1000


def test_initial_values_depend_on_seed_name_and_shape_only() -> None:
    shape = torch.Size((4, 3))
    assert torch.equal(initial_value("a.weight", shape, 1), initial_value("a.weight", shape, 1))
    assert not torch.equal(initial_value("a.weight", shape, 1), initial_value("b.weight", shape, 1))
    assert not torch.equal(initial_value("a.weight", shape, 1), initial_value("a.weight", shape, 2))
    assert torch.equal(initial_value("norm.weight", torch.Size((4,)), 1), torch.ones(4))
    assert torch.equal(initial_value("a.bias", torch.Size((4,)), 1), torch.zeros(4))


def test_a_deferred_model_holds_no_parameter_but_its_buffers_and_ties() -> None:
    with parameters_on_meta():
        decoder = load_workload("decoder", "cpu", "generated").build()
        tied = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        tied[1].weight = tied[0].weight
    assert all(p.is_meta for p in decoder.parameters())
    assert not any(b.is_meta for b in decoder.buffers())
    assert tied[0].weight is tied[1].weight
    assert len(list(tied.parameters())) == 3
    assert not torch.nn.Linear(2, 2).weight.is_meta, "the patch ends with its context"


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


def test_the_text_is_python() -> None:
    text = bytes(standard_library())
    assert len(text) == 8 * 2**20
    assert b"import " in text


def test_unknown_data_is_refused() -> None:
    with pytest.raises(RequestError, match="did you mean 'digits'"):
        datasets.choose("digit", ("digits",))
