"""``paceline list``: what there is, and whether it can run here."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from paceline.cli.output import console, print_json


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
    from rich.table import Table
    from rich.text import Text

    table = Table(pad_edge=False, box=None)
    for title in ("name", "available", "about"):
        table.add_column(title)
    for row in rows:
        table.add_row(Text(row["name"]), "yes" if row["available"] else "no", Text(row["reason"] or row["about"]))
    console().print(table)
