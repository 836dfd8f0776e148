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
    from paceline.analysis.whole_run.two_runs import compare_cells, differing_settings, refuse_blocking
    from paceline.analysis.whole_run.view import view_run
    from paceline.errors import RequestError
    from paceline.report.two_runs_table import DESCRIPTIVE, two_runs_table
    from paceline.store.run_directory import RunDirectory

    views = [view_run(RunDirectory.open(path)) for path in (first, second)]
    differences = differing_settings(views[0].run, views[1].run)
    refuse_blocking(differences, allow or [], f"{first} and {second}")
    rows = compare_cells((views[0].run, views[0].rows), (views[1].run, views[1].rows))
    if not rows:
        raise RequestError(f"{first} and {second} have no cell in common: compare runs of one suite")
    if json:
        allowed_differences = {key: list(values) for key, values in differences.items()}
        print_json(
            {"kind": "descriptive", "reason": DESCRIPTIVE, "differences": allowed_differences,
             "cells": [row.model_dump(mode="json") for row in rows]}
        )  # fmt: skip
        return
    console().print(two_runs_table(rows, differences))
    console().print(DESCRIPTIVE)
