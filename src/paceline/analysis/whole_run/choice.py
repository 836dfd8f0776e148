"""Which engine to take for a purpose, what a wrong choice would cost, and what would change the answer.

Every purpose has a cost for each block, in log units: ln(time), ln(memory), ln(start-up), or for stability the distance
of a launch from its engine's own median. Costs are added up with the weights of their purposes: with
speed=1,memory=0.5 a percent of memory is worth half a percent of time.
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
"""Resamplings of blocks from which the regret of a choice is estimated."""


class Purpose(StrEnum):
    """What an engine may be chosen for."""

    SPEED = "speed"
    MEMORY = "memory"
    STABILITY = "stability"
    START_UP = "startup"


Weights = Mapping[Purpose, float]
Blocks = Mapping[int, float]
"""Number of a block to a positive value, where less is better; infinite for a failure."""


class Choice(Model):
    """The answer for one comparison."""

    engine: str | None
    """Null where no engine may be recommended."""
    runner_up: str | None
    too_close: bool
    """Whether the engine is not proven faster than the runner-up by more than the margin."""
    regret: float | None
    """Expected additional cost of the choice, compared with the best one, in log units; null for too few blocks."""
    reason: str
    would_change: list[str]
    """Purposes and weights at which another engine would be the answer, in words."""
    marks: list[str]
    """Warnings about the candidates, in words: missing proofs, engines left out."""


def parse_weights(text: str) -> dict[Purpose, float]:
    """Return the weights in texts such as ``speed`` or ``speed=1,memory=0.5``. Raises RequestError for other texts."""
    weights: dict[Purpose, float] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition("=")
        if name not in set(Purpose):
            raise RequestError(f"unknown purpose {name!r}: {nearest(name, list(Purpose))}")
        try:
            weights[Purpose(name)] = float(weight or 1)
        except ValueError:
            raise RequestError(f"weight {weight!r} of {name} is not a number: write for example {name}=2") from None
        if not 0 < weights[Purpose(name)] < math.inf:
            raise RequestError(f"weight {weight!r} of {name} must be positive: leave {name} out to ignore it")
    return weights


def choose(
    values: Mapping[str, Mapping[Purpose, Blocks]], weights: Weights, marks: Sequence[str] = (), margin: float = 0.02
) -> Choice:
    """Return the engine with the least mean cost over the blocks that all engines have.

    ``values``: engine to its values for each purpose; it holds only engines that may be recommended. ``marks``:
    warnings that the choice passes on.
    """
    costs = {name: _costs(purposes, weights) for name, purposes in values.items()}
    costs = {name: cost_by_block for name, cost_by_block in costs.items() if cost_by_block}
    if not costs:
        return _no_choice("no engine of this comparison has finished a trial and is proven to do the same work", marks)
    blocks = sorted(set.intersection(*(set(cost_by_block) for cost_by_block in costs.values())))
    table = {name: np.array([cost_by_block[b] for b in blocks]) for name, cost_by_block in costs.items()}
    reliable = {name: row for name, row in table.items() if len(row) and np.isfinite(row).all()}
    failing = sorted(table.keys() - reliable.keys())
    if not reliable:
        return _no_choice("every engine failed in some block", marks)
    order = sorted(reliable, key=lambda name: float(np.mean(reliable[name])))
    best, second = order[0], order[1] if len(order) > 1 else None
    all_marks = [*marks, *(f"{name} failed in some block and is never recommended" for name in failing)]
    if second is None:
        return Choice(
            engine=best, runner_up=None, too_close=False, regret=None, reason="it is the only one that may be taken",
            would_change=[], marks=all_marks,
        )  # fmt: skip
    best_against_second = verdict(reliable[best] - reliable[second], margin=margin)
    return Choice(
        engine=best,
        runner_up=second,
        too_close=best_against_second.word is not Word.FASTER,
        regret=_regret(best, reliable) if len(blocks) >= FIRST_LOOK else None,
        reason=_reason(best, second, best_against_second, weights),
        would_change=_would_change(best, values, weights, reliable),
        marks=all_marks,
    )


def _no_choice(reason: str, marks: Sequence[str]) -> Choice:
    return Choice(
        engine=None, runner_up=None, too_close=False, regret=None, reason=reason, would_change=[], marks=list(marks)
    )


def _costs(purposes: Mapping[Purpose, Blocks], weights: Weights) -> dict[int, float]:
    """Return an engine's weighted cost for each block in which every weighted purpose has a value."""
    parts = {purpose: _log_costs(purpose, purposes) for purpose in weights}
    blocks = set.intersection(*(set(part) for part in parts.values()))
    return {block: sum(weights[purpose] * parts[purpose][block] for purpose in weights) for block in blocks}


def _log_costs(purpose: Purpose, purposes: Mapping[Purpose, Blocks]) -> dict[int, float]:
    """Return an engine's cost for each block in log units; stability is derived from the values for speed."""
    values = purposes.get(Purpose.SPEED if purpose is Purpose.STABILITY else purpose, {})
    logs = {block: math.log(value) for block, value in values.items()}
    if purpose is not Purpose.STABILITY:
        return logs
    middle = float(np.median(list(logs.values()))) if logs else 0.0
    return {block: abs(value - middle) if math.isfinite(value) else math.inf for block, value in logs.items()}


def _regret(best: str, table: Mapping[str, NDArray[np.float64]]) -> float:
    """Return how much more the chosen engine costs than the best of each resampling of blocks, on average."""
    rows = np.stack(list(table.values()))
    drawn = np.random.default_rng(0).integers(rows.shape[1], size=(DRAWS, rows.shape[1]))
    means = rows[:, drawn].mean(axis=2)
    return float(np.mean(means[list(table).index(best)] - means.min(axis=0)))


def _reason(best: str, second: str, pair: Verdict, weights: Weights) -> str:
    wanted = " and ".join(
        purpose if weight == 1 else f"{purpose} (weight {weight:g})" for purpose, weight in weights.items()
    )
    multiple = f"{pair.ratio:.3f} times" if pair.ratio is not None else "an unknown multiple of"
    cost_names = {Purpose.SPEED: "the time", Purpose.MEMORY: "the memory", Purpose.START_UP: "the start-up"}
    cost = cost_names.get(next(iter(weights)), "the cost") if len(weights) == 1 else "the cost"
    blocks = f"{pair.won} of {pair.blocks} blocks"
    interval = "" if pair.low is None or pair.high is None else f" [{pair.low:.3f}, {pair.high:.3f}]"
    few = f"; {pair.blocks} of the {FIRST_LOOK} blocks that a verdict needs" if pair.word is Word.INSUFFICIENT else ""
    return f"for {wanted} {best} takes {multiple} {cost} of {second}{interval}, less in {blocks}{few}"


def _would_change(
    best: str,
    values: Mapping[str, Mapping[Purpose, Blocks]],
    weights: Weights,
    table: Mapping[str, NDArray[np.float64]],
) -> list[str]:
    """Return, for each purpose without a weight, the engine that this purpose would favour and from which weight on."""
    texts = []
    for purpose in Purpose:
        if purpose in weights:
            continue
        means = {
            name: float(np.mean(list(logs.values())))
            for name in table
            if (logs := _log_costs(purpose, values[name])) and all(map(math.isfinite, logs.values()))
        }
        if best not in means:
            continue
        break_even_weights = {
            name: (float(np.mean(table[name])) - float(np.mean(table[best]))) / (means[best] - mean)
            for name, mean in means.items()
            if mean < means[best]
        }
        if break_even_weights:
            name = min(break_even_weights, key=lambda each: break_even_weights[each])
            texts.append(f"if {purpose} counted {break_even_weights[name]:.2g} times as much or more: {name}")
    return texts
