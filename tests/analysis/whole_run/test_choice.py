"""``choose`` names an engine, what a wrong choice costs and what would change the answer."""

import math

import numpy as np
import pytest

from paceline.analysis.whole_run.choice import Blocks, Purpose, choose, parse_weights
from paceline.errors import RequestError

SPEED = {Purpose.SPEED: 1.0}
Values = dict[str, dict[Purpose, Blocks]]


def measured(blocks: int = 12, sd: float = 0.02, **engines: tuple[float, float]) -> Values:
    """Return engines of typical (time, memory), with launches that differ."""
    draw = np.random.default_rng(11)
    base = draw.normal(0, 0.05, blocks)  # blocks differ for all engines alike
    found: Values = {}
    for name, (time, memory) in engines.items():
        times = time * np.exp(base + draw.normal(0, sd, blocks))
        found[name] = {
            Purpose.SPEED: dict(enumerate(times)),
            Purpose.MEMORY: dict.fromkeys(range(blocks), memory),
            Purpose.START_UP: dict.fromkeys(range(blocks), 5.0),
        }
    return found


def test_the_faster_engine_is_taken_and_memory_would_change_it() -> None:
    found = choose(measured(quick=(1.0, 4.0), small=(1.2, 1.0)), SPEED)
    assert (found.engine, found.runner_up, found.too_close) == ("quick", "small", False)
    assert found.regret == pytest.approx(0.0, abs=1e-6)
    assert "quick takes 0.8" in found.reason
    (change,) = found.would_change
    assert change.endswith(": small")
    weight = float(change.split()[3])
    assert weight == pytest.approx(math.log(1.2) / math.log(4), rel=0.1)
    values = measured(quick=(1.0, 4.0), small=(1.2, 1.0))
    assert choose(values, {Purpose.SPEED: 1.0, Purpose.MEMORY: 1.5 * weight}).engine == "small"
    assert choose(values, {Purpose.SPEED: 1.0, Purpose.MEMORY: 0.5 * weight}).engine == "quick"


def test_twins_are_too_close_to_call_and_cost_little() -> None:
    found = choose(measured(one=(1.0, 1.0), other=(1.001, 1.0)), SPEED)
    assert found.too_close
    assert found.regret is not None
    assert 0 < found.regret < 0.01


def test_few_blocks_say_nothing_for_sure() -> None:
    found = choose(measured(blocks=3, quick=(1.0, 1.0), slow=(2.0, 1.0)), SPEED)
    assert found.engine == "quick"
    assert found.too_close
    assert found.regret is None
    assert "3 of the 8 blocks" in found.reason


def test_an_engine_that_fails_is_never_taken() -> None:
    values = measured(quick=(1.0, 1.0), slow=(2.0, 1.0))
    values["quick"][Purpose.SPEED] = {**values["quick"][Purpose.SPEED], 5: math.inf}
    found = choose(values, SPEED)
    assert found.engine == "slow"
    assert "quick failed in some block and is never recommended" in found.marks


def test_the_steadier_engine_is_taken_for_stability() -> None:
    values = measured(steady=(1.0, 1.0)) | measured(sd=0.2, jumpy=(0.9, 1.0))
    assert choose(values, {Purpose.STABILITY: 1.0}).engine == "steady"


def test_nobody_is_taken_where_nobody_may_be() -> None:
    assert choose({}, SPEED).engine is None


def test_names_may_come_in_any_order() -> None:
    values = measured(a=(1.0, 1.0), b=(1.1, 1.0), c=(1.05, 2.0))
    mirrored = dict(reversed(values.items()))
    assert choose(values, SPEED) == choose(mirrored, SPEED)


@pytest.mark.parametrize(
    ("text", "said"), [("sped", "did you mean 'speed'"), ("speed=x", "not a number"), ("speed=0", "must be positive")]
)
def test_wrong_purposes_are_named(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        parse_weights(text)
    assert parse_weights("speed=1, memory=0.5") == {Purpose.SPEED: 1.0, Purpose.MEMORY: 0.5}
