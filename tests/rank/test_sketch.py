"""A sketch stands for a tensor: linear, of the same norm."""

import numpy as np
import pytest

from paceline.rank.sketch import sketch


def test_a_sketch_is_linear_and_keeps_norms() -> None:
    import torch

    draw = torch.Generator().manual_seed(0)
    a, b = torch.randn(300, 400, generator=draw), torch.randn(300, 400, generator=draw)
    assert np.allclose(sketch("t", a + b), sketch("t", a) + sketch("t", b), atol=1e-4)
    assert np.linalg.norm(sketch("t", a)) == pytest.approx(float(a.norm()), rel=0.3)
    one = torch.zeros(300, 400)
    one[17, 5] = 3.0
    assert np.linalg.norm(sketch("t", one)) == 3.0, "a fault in one element is as visible as one in all"
    assert not np.array_equal(sketch("t", a), sketch("u", a))
