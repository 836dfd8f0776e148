"""FLOPs of training, counted once on a plain copy of the model and shared by all engines.

See docs/method.md, "FLOPs and utilisation".
"""

import numpy as np
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import FlopCounterMode

from paceline.workloads.contract import Workload

FLOPS_SOURCE = "torch.utils.flop_counter, forward and backward, on fake tensors; a multiply-add is two"


def count_training_flops(workload: Workload) -> float:
    """Return the FLOPs of a forward and backward pass of one sample: matrix products, convolutions and attention.

    Element-wise operations are not counted, as is usual in reported model FLOPs. Fake tensors have shapes without
    values, so the count computes nothing.
    """
    batch = workload.batch(np.arange(1))
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        model = workload.build()
        inputs = tree_map(fake.from_tensor, batch)
        with FlopCounterMode(display=False) as counter:
            workload.loss(model, inputs).backward()
    return float(counter.get_total_flops())
