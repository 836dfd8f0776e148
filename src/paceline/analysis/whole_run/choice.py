"""Which engine to take for a purpose, what a wrong choice would cost, and what would change the answer.

Every purpose is a cost in log units of one block: ln(time), ln(memory), ln(start-up), or for stability how far a launch
lies from its engine's own median. Purposes are added up with their weights, so that with speed=1,memory=0.5 a percent
of memory is worth half a percent of time.
"""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from paceline.analysis.statistics.error_spending import FIRST_LOOK
from paceline.analysis.statistics.pair_verdict import Verdict, Word, verdict
from paceline.errors import RequestError, nearest
from paceline.schema.model import Model

DRAWS = 2000
"""Resamplings of blocks for regrets."""


class Purpose(StrEnum):
    """What an engine may be chosen for."""

    SPEED = "speed"
    MEMORY = "memory"
    STABILITY = "stability"
    START_UP = "startup"


Weights = Mapping[Purpose, float]
Blocks = Mapping[int, float]
"""Block to a positive value of which less is better; infinite for a failure."""


class Choice(Model):
    """The answer for one comparison."""

    engine: str | None
    """Null where no engine may be recommended."""
    runner_up: str | None
    too_close: bool
    """Whether the two are not proven to differ beyond the margin."""
    regret: float | None
    """Expected cost of the choice above the best's, in log units, blocks resampled; null without blocks enough."""
    reason: str
    would_change: list[str]
    marks: list[str]
    """What a reader must know of the candidates: missing proofs, engines left out."""


def parse_weights(text: str) -> dict[Purpose, float]:
    """Return the weights in ``speed`` or ``speed=1,memory=0.5``. Raises RequestError."""
    found: dict[Purpose, float] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition("=")
        if name not in set(Purpose):
            raise RequestError(f"unknown purpose {name!r}: {nearest(name, list(Purpose))}")
        try:
            found[Purpose(name)] = float(weight or 1)
        except ValueError:
            raise RequestError(f"weight {weight!r} of {name} is not a number: write for example {name}=2") from None
        if not 0 < found[Purpose(name)] < math.inf:
            raise RequestError(f"weight {weight!r} of {name} must be positive: leave {name} out to ignore it")
    return found


def choose(
    values: Mapping[str, Mapping[Purpose, Blocks]], weights: Weights, marks: Sequence[str] = (), margin: float = 0.02
) -> Choice:
    """Return the engine with the least expected cost; ``values`` holds only engines that may be recommended."""
    costs = {name: _costs(of, weights) for name, of in values.items()}
    costs = {name: of for name, of in costs.items() if of}
    if not costs:
        return _no_choice("no engine of this comparison has finished a trial and is proven to do the same work", marks)
    blocks = sorted(set.intersection(*(set(of) for of in costs.values())))
    table = {name: np.array([of[b] for b in blocks]) for name, of in costs.items()}
    sound = {name: row for name, row in table.items() if len(row) and np.isfinite(row).all()}
    failing = sorted(table.keys() - sound.keys())
    if not sound:
        return _no_choice("every engine failed in some block", marks)
    order = sorted(sound, key=lambda name: float(np.mean(sound[name])))
    best, second = order[0], order[1] if len(order) > 1 else None
    said = [*marks, *(f"{name} failed in some block and is never recommended" for name in failing)]
    if second is None:
        return Choice(
            engine=best, runner_up=None, too_close=False, regret=None, reason="it is the only one that may be taken",
            would_change=[], marks=said,
        )  # fmt: skip
    against = verdict(sound[best] - sound[second], margin=margin)
    return Choice(
        engine=best,
        runner_up=second,
        too_close=against.word is not Word.FASTER,
        regret=_regret(best, sound) if len(blocks) >= FIRST_LOOK else None,
        reason=_reason(best, second, against, weights),
        would_change=_would_change(best, values, weights, sound),
        marks=said,
    )


def _no_choice(reason: str, marks: Sequence[str]) -> Choice:
    return Choice(
        engine=None, runner_up=None, too_close=False, regret=None, reason=reason, would_change=[], marks=list(marks)
    )


def _costs(of: Mapping[Purpose, Blocks], weights: Weights) -> dict[int, float]:
    """Return the weighted cost a block, in the blocks in which every weighted purpose has a value."""
    parts = {purpose: _logarithms(purpose, of) for purpose in weights}
    blocks = set.intersection(*(set(part) for part in parts.values()))
    return {block: sum(weights[purpose] * parts[purpose][block] for purpose in weights) for block in blocks}


def _logarithms(purpose: Purpose, of: Mapping[Purpose, Blocks]) -> dict[int, float]:
    source = of.get(Purpose.SPEED if purpose is Purpose.STABILITY else purpose, {})
    logs = {block: math.log(value) for block, value in source.items()}
    if purpose is not Purpose.STABILITY:
        return logs
    middle = float(np.median(list(logs.values()))) if logs else 0.0
    return {block: abs(value - middle) if math.isfinite(value) else math.inf for block, value in logs.items()}


def _regret(best: str, table: Mapping[str, NDArray[np.float64]]) -> float:
    """Return the mean over resampled blocks of how much more the chosen engine costs than the best of that draw."""
    rows = np.stack(list(table.values()))
    drawn = np.random.default_rng(0).integers(rows.shape[1], size=(DRAWS, rows.shape[1]))
    means = rows[:, drawn].mean(axis=2)
    return float(np.mean(means[list(table).index(best)] - means.min(axis=0)))


def _reason(best: str, second: str, against: Verdict, weights: Weights) -> str:
    what = " and ".join(
        purpose if weight == 1 else f"{purpose} (weight {weight:g})" for purpose, weight in weights.items()
    )
    cost = f"{against.ratio:.3f} times" if against.ratio is not None else "an unknown multiple of"
    unit = {Purpose.SPEED: "the time", Purpose.MEMORY: "the memory", Purpose.START_UP: "the start-up"}
    of = unit.get(next(iter(weights)), "the cost") if len(weights) == 1 else "the cost"
    blocks = f"{against.won} of {against.blocks} blocks"
    interval = "" if against.low is None or against.high is None else f" [{against.low:.3f}, {against.high:.3f}]"
    few = (
        f"; {against.blocks} of the {FIRST_LOOK} blocks that a verdict needs"
        if against.word is Word.INSUFFICIENT
        else ""
    )
    return f"for {what} {best} takes {cost} {of} of {second}{interval}, less in {blocks}{few}"


def _would_change(
    best: str,
    values: Mapping[str, Mapping[Purpose, Blocks]],
    weights: Weights,
    sound: Mapping[str, NDArray[np.float64]],
) -> list[str]:
    """Return, for each purpose that was not asked for, the engine that it would favour and from which weight on."""
    found = []
    for purpose in Purpose:
        if purpose in weights:
            continue
        means = {
            name: float(np.mean(list(logs.values())))
            for name in sound
            if (logs := _logarithms(purpose, values[name])) and all(map(math.isfinite, logs.values()))
        }
        if best not in means:
            continue
        turning = {
            name: (float(np.mean(sound[name])) - float(np.mean(sound[best]))) / (means[best] - mean)
            for name, mean in means.items()
            if mean < means[best]
        }
        if turning:
            name = min(turning, key=lambda each: turning[each])
            found.append(f"if {purpose} counted {turning[name]:.2g} times as much or more: {name}")
    return found
