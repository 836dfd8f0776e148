"""Whether a run met the expectations that its suite states: self-tests and accuracy targets."""

import math
from collections.abc import Iterator

from paceline.analysis.whole_run.summary import CellSummary
from paceline.schema.model import Model
from paceline.schema.suite import Expectation, Suite


class CheckedExpectation(Model):
    """One expectation and whether it holds."""

    engine: str
    category: str
    text: str
    holds: bool


def checked_expectations(suite: Suite, rows: list[CellSummary]) -> list[CheckedExpectation]:
    """Return every expectation of the suite whose cell was run, and whether it holds."""
    rows_by_key = {(row.cell.comparison, str(row.cell.engine)): row for row in rows if row.status is not None}
    return [
        checked
        for index, definition in enumerate(suite.comparisons)
        for engine, expected in definition.expect.items()
        if (row := rows_by_key.get((index, engine))) is not None
        for checked in _checked(row, expected)
    ]


def _checked(row: CellSummary, expected: tuple[Expectation, ...]) -> Iterator[CheckedExpectation]:
    for expectation in expected:
        text, holds = _holds(row, expectation)
        yield CheckedExpectation(engine=str(row.cell.engine), category=row.cell.category, text=text, holds=holds)


def _holds(row: CellSummary, expected: Expectation) -> tuple[str, bool]:
    """Return the expectation beside what was measured, in words, and whether it holds."""
    if expected.status is not None:
        return f"status {row.status} (expected {expected.status}): {row.cause or 'no cause'}", (
            row.status is not None and row.status.value == expected.status
        )
    if expected.flag is not None:
        message = row.flags.get(expected.flag)
        return f"flag {expected.flag}: {message or 'not raised'}", message is not None and expected.says in message
    name = expected.metric or ""
    spread = row.metrics.get(name)
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
