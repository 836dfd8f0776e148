"""How the error of a sequence of looks is spent: the levels of the method."""

import pytest

from paceline.analysis.statistics.error_spending import Spending, levels

LOOKS = (8, 12, 20, 32, 50)


def test_levels_are_those_of_the_method() -> None:
    assert levels(LOOKS, 0.025, Spending.DIFFERENCE) == pytest.approx(
        [0.0040, 0.0032, 0.0055, 0.0087, 0.0138], abs=5e-5
    )
    assert levels(LOOKS, 0.025, Spending.EQUIVALENCE) == pytest.approx(
        [0.0006, 0.0010, 0.0030, 0.0079, 0.0197], abs=5e-5
    )
    assert levels([50], 0.025, Spending.DIFFERENCE) == pytest.approx([0.025], abs=1e-6)
    assert levels([50, 60], 0.025, Spending.DIFFERENCE)[1] == 0, "beyond the horizon nothing is left to spend"
    with pytest.raises(ValueError, match="growing"):
        levels([12, 8], 0.025, Spending.DIFFERENCE)
