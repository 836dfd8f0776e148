"""``paceline list``: what there is, and whether it can run here."""

import textwrap
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from paceline.cli.output import console, print_json

LEAST_BESIDE = 40
"""Columns of text that are still read with ease beside a name."""


class Things(StrEnum):
    """What can be listed."""

    SUITES = "suites"
    WORKLOADS = "workloads"
    ENGINES = "engines"
    METRICS = "metrics"


def list_things(
    things: Annotated[Things, typer.Argument(help="What to list.")],
    json: Annotated[bool, typer.Option("--json", help="A JSON list of objects with name, available, reason.")] = False,
) -> None:
    """List suites, workloads, engines or metrics."""
    from paceline.conductor.planning import catalogue

    rows: list[dict[str, Any]] = getattr(catalogue, things.value)()
    if json:
        print_json(rows)
        return
    from paceline.report import PROSE_COLUMNS

    terminal = console()
    terminal.print("\n".join(listed(rows, min(terminal.width, PROSE_COLUMNS))), soft_wrap=True, markup=False)


def listed(rows: list[dict[str, Any]], width: int) -> Iterator[str]:
    """Yield the rows in lines of at most ``width`` columns, wrapped by words; only a word that is longer sticks out.

    What a row is about stands beside its name, or below it where too little of the width is left.
    """
    names = max(len("name"), *(len(row["name"]) for row in rows))
    texts = [(row["name"], "yes" if row["available"] else "no", row["reason"] or row["about"]) for row in rows]
    indent = names + len("  available  ")
    beside = width - indent >= LEAST_BESIDE
    if not beside:
        indent = len("    ")
    for name, available, about in [("name", "available", "about"), *texts]:
        head = f"{name:<{names}}  {available}".rstrip()
        lines = textwrap.wrap(about, width - indent, break_long_words=False, break_on_hyphens=False)
        if beside:
            yield f"{head:<{indent}}{lines.pop(0) if lines else ''}".rstrip()
        else:
            yield head
        yield from (" " * indent + line for line in lines)
