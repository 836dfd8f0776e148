"""Initial values by name."""

import torch

from paceline.workloads.initial import initial_value


def test_initial_values_depend_on_seed_name_and_shape_only() -> None:
    shape = torch.Size((4, 3))
    assert torch.equal(initial_value("a.weight", shape, 1), initial_value("a.weight", shape, 1))
    assert not torch.equal(initial_value("a.weight", shape, 1), initial_value("b.weight", shape, 1))
    assert not torch.equal(initial_value("a.weight", shape, 1), initial_value("a.weight", shape, 2))
    assert torch.equal(initial_value("norm.weight", torch.Size((4,)), 1), torch.ones(4))
    assert torch.equal(initial_value("a.bias", torch.Size((4,)), 1), torch.zeros(4))
