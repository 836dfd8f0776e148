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
    from paceline.analysis.whole_run.choice import parse_weights
    from paceline.analysis.whole_run.recommendation import recommendations
    from paceline.analysis.whole_run.view import view_run
    from paceline.report.choice_text import choice_text
    from paceline.store.run_directory import RunDirectory

    weights = parse_weights(by)
    answers = recommendations(view_run(RunDirectory.open(run)), asked, weights)
    if json:
        rows = [
            {
                "category": comparison.definition.category.value,
                "workload": comparison.definition.workload,
                **choice.model_dump(),
            }
            for comparison, choice in answers
        ]
        print_json({"by": {str(purpose): weight for purpose, weight in weights.items()}, "choices": rows})
        return
    for comparison, choice in answers:
        console().print(choice_text(comparison, choice))
