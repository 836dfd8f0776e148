"""What was typed, as it is read."""

import pytest

from paceline.conductor.planning.request import seconds
from paceline.errors import RequestError


def test_budgets_are_read_with_their_unit() -> None:
    assert (seconds("90s"), seconds("10m"), seconds("2h")) == (90, 600, 7200)
    with pytest.raises(RequestError, match="for example 90s"):
        seconds("10")
