"""``paceline choose``: the engine to take, and how sure that is."""

from pathlib import Path
from typing import Annotated

import typer

from paceline.cli.output import console, print_json


def choose(
    run: Annotated[Path, typer.Argument(help="A run directory.", show_default=False)],
    asked: Annotated[str, typer.Option("--for", help="A workload or a category of the run.", show_default=False)],
    by: Annotated[
        str, typer.Option(help="speed, memory, stability or startup, or weights: speed=1,memory=0.5.")
    ] = "speed",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Say which engine to take, the runner-up, what a wrong choice costs, and what would change the answer."""
    from paceline.analysis.choice import parse_weights
    from paceline.report.choice import choice_text, choices
    from paceline.report.view import view_run
    from paceline.store.run_directory import RunDirectory

    directory = RunDirectory.open(run)
    weights = parse_weights(by)
    found = choices(view_run(directory), directory, asked, weights)
    if json:
        rows = [
            {"category": view.comparison.category.value, "workload": view.comparison.workload, **choice.model_dump()}
            for view, choice in found
        ]
        print_json({"by": {str(purpose): weight for purpose, weight in weights.items()}, "choices": rows})
        return
    for view, choice in found:
        console().print(choice_text(view, choice))
