"""The order of engines within blocks is balanced."""

from collections import Counter
from itertools import pairwise

import pytest

from paceline.conductor.planning.block_order import block_order


@pytest.mark.parametrize("engines", [2, 3, 4, 5])
def test_block_order_balances_position_and_carry_over(engines: int) -> None:
    cycle = engines if engines % 2 == 0 else 2 * engines
    orders = [block_order(engines, block) for block in range(cycle)]
    assert all(sorted(order) == list(range(engines)) for order in orders)
    positions = Counter((place, engine) for order in orders for place, engine in enumerate(order))
    follows = Counter(pair for order in orders for pair in pairwise(order))
    assert len(set(positions.values())) == 1
    assert set(follows.values()) == {cycle // engines}
    assert len(follows) == engines * (engines - 1)
