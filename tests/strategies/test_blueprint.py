"""Models that are made without their parameters."""

import torch

from paceline.strategies.blueprint import parameters_on_meta
from paceline.workloads.contract import load_workload


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
