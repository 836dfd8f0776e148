"""Selecting a part of a suite by engine, workload or category."""

from dataclasses import dataclass

from paceline.errors import RequestError, nearest, quoted
from paceline.schema.engine import EngineName
from paceline.schema.suite import Category, Comparison, Suite


@dataclass(frozen=True)
class Filters:
    """Which engines, workloads and category of a suite to run; an empty filter lets all pass."""

    engines: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    category: str | None = None


def select(suite: Suite, filters: Filters) -> Suite:
    """Return the suite with only what all filters let pass.

    Raises RequestError when the suite does not have something that a filter names, or when nothing passes.
    """
    known_engines = {str(e) for c in suite.comparisons for e in c.engines}
    known_workloads = {c.workload for c in suite.comparisons}
    for name in filters.engines:
        EngineName.parse(name)
        if name not in known_engines:
            raise RequestError(f"engine {quoted(name)} is not in suite {suite.name!r}: {nearest(name, known_engines)}")
    for name in filters.workloads:
        if name not in known_workloads:
            raise RequestError(
                f"workload {quoted(name)} is not in suite {suite.name!r}: {nearest(name, known_workloads)}"
            )
    if filters.category is not None and filters.category not in set(Category):
        raise RequestError(f"unknown category {quoted(filters.category)}: {nearest(filters.category, list(Category))}")
    selected = [
        _with_engines(comparison, filters.engines)
        for comparison in suite.comparisons
        if (not filters.workloads or comparison.workload in filters.workloads)
        and (filters.category is None or comparison.category == filters.category)
        and (not filters.engines or any(str(e) in filters.engines for e in comparison.engines))
    ]
    if not selected:
        raise RequestError(f"nothing of suite {suite.name!r} is left by --engines, --workloads and --category together")
    return suite.model_copy(update={"comparisons": tuple(selected)})


def _with_engines(comparison: Comparison, engines: tuple[str, ...]) -> Comparison:
    if not engines:
        return comparison
    selected = tuple(engine for engine in comparison.engines if str(engine) in engines)
    reference = comparison.reference if comparison.reference in selected else None
    expect = {engine: expectation for engine, expectation in comparison.expect.items() if engine in engines}
    return comparison.model_copy(update={"engines": selected, "reference": reference, "expect": expect})
