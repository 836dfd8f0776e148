"""Whether a suite found what it says it must find: self-tests and accuracy targets."""

import math
from collections.abc import Iterator

from paceline.analysis.summary import CellSummary
from paceline.spec.model import Model
from paceline.spec.suite import Expectation, Suite


class Finding(Model):
    """One expectation and whether it holds."""

    engine: str
    category: str
    text: str
    holds: bool


def check(suite: Suite, cells: list[CellSummary]) -> list[Finding]:
    """Return a finding for every expectation of the suite whose cell was run."""
    by_key = {(c.cell.comparison, str(c.cell.engine)): c for c in cells if c.status is not None}
    return [
        finding
        for index, comparison in enumerate(suite.comparisons)
        for engine, expected in comparison.expect.items()
        if (cell := by_key.get((index, engine))) is not None
        for finding in _findings(cell, expected)
    ]


def _findings(cell: CellSummary, expected: tuple[Expectation, ...]) -> Iterator[Finding]:
    for expectation in expected:
        text, holds = _judge(cell, expectation)
        yield Finding(engine=str(cell.cell.engine), category=cell.cell.category, text=text, holds=holds)


def _judge(cell: CellSummary, expected: Expectation) -> tuple[str, bool]:
    if expected.status is not None:
        return f"status {cell.status} (expected {expected.status}): {cell.cause or 'no cause'}", (
            cell.status is not None and cell.status.value == expected.status
        )
    if expected.flag is not None:
        message = cell.flags.get(expected.flag)
        return f"flag {expected.flag}: {message or 'not raised'}", message is not None and expected.says in message
    name = expected.metric or ""
    spread = cell.metrics.get(name)
    value = spread.median if spread else None
    if expected.null:
        return f"{name} is {value} (expected null: {spread.reason if spread else 'no such metric'})", (
            spread is not None and value is None
        )
    if value is None:
        return f"{name} is null: {spread.reason if spread else 'no such metric'}", False
    if expected.at_least is not None:
        return f"{name} {value:.4g} (at least {expected.at_least:.4g})", value >= expected.at_least
    wanted = expected.value if expected.value is not None else math.nan
    return f"{name} {value:.4g} (expected {wanted:.4g} within {expected.within:.0%})", math.isclose(
        value, wanted, rel_tol=expected.within
    )
