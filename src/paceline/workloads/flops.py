"""FLOPs of training, counted once on a plain single-process copy and shared by all engines (METHOD §10)."""

import numpy as np
import torch
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import FlopCounterMode

from paceline.workloads.contract import Workload

FLOPS_SOURCE = "torch.utils.flop_counter, forward and backward, meta device; a multiply-add is two"


def count_training_flops(workload: Workload) -> float:
    """Return FLOPs of forward and backward for one sample: matrix products, convolutions and attention.

    Nothing is computed (meta device). Element-wise operations are not counted, as usual in reported model FLOPs.
    """
    with torch.device("meta"):
        model = workload.build()
    batch = tree_map(lambda tensor: tensor.to("meta"), workload.batch(np.arange(1)))
    with FlopCounterMode(display=False) as counter:
        workload.loss(model, batch).backward()
    return float(counter.get_total_flops())
