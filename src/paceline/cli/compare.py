"""``paceline compare``: two runs side by side, if they are alike."""

from pathlib import Path
from typing import Annotated

import typer

from paceline.cli.output import console, print_json


def compare(
    first: Annotated[Path, typer.Argument(help="A run directory.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another.", show_default=False)],
    allow: Annotated[
        list[str] | None,
        typer.Option(help="A difference that is the point, e.g. versions.torch; a group such as versions allows all."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Put two runs side by side; refuse unlike ones and say what differs."""
    from paceline.analysis.two_runs import compare_cells, unlike
    from paceline.report.two_runs import DESCRIPTIVE, two_runs_table
    from paceline.report.view import view_run
    from paceline.spec.errors import RequestError
    from paceline.store.run_directory import RunDirectory

    views = [view_run(RunDirectory.open(path)) for path in (first, second)]
    found = unlike(views[0].run, views[1].run)
    allowed = allow or []
    barring = {k: v for k, v in found.items() if not any(k == a or k.startswith(f"{a}.") for a in allowed)}
    if unknown := [a for a in allowed if not any(k == a or k.startswith(f"{a}.") for k in found)]:
        raise RequestError(f"--allow {unknown[0]}: the runs do not differ in that; they differ in {_list(found)}")
    if barring:
        told = "\n".join(f"  {key}: {one} / {other}" for key, (one, other) in barring.items())
        raise RequestError(
            f"{first} and {second} are not alike, so their figures cannot be compared:\n{told}\n"
            "if such a difference is the point, name it: --allow KEY"
        )
    rows = compare_cells((views[0].run, views[0].cells), (views[1].run, views[1].cells))
    if not rows:
        raise RequestError(f"{first} and {second} have no cell in common: compare runs of one suite")
    if json:
        allowed_differences = {key: list(values) for key, values in found.items()}
        print_json(
            {"kind": "descriptive", "reason": DESCRIPTIVE, "differences": allowed_differences,
             "cells": [row.model_dump(mode="json") for row in rows]}
        )  # fmt: skip
        return
    people = console()
    people.print(two_runs_table(rows, found))
    people.print(DESCRIPTIVE)


def _list(found: dict[str, tuple[str, str]]) -> str:
    return ", ".join(found) if found else "nothing"
