"""``paceline show``: the tables of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.output import console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from paceline.report.view import RunView
    from paceline.store.run_directory import RunDirectory


def show(
    run: Annotated[Path, typer.Argument(help="A run directory.", show_default=False)],
    proof: Annotated[
        str | None, typer.Option(help="Losses and live settings of a workload, engines side by side.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Print the tables of a run."""
    from paceline.report.document import document
    from paceline.report.proof import proof_tables
    from paceline.report.view import view_run
    from paceline.store.run_directory import RunDirectory

    directory = RunDirectory.open(run)
    view = view_run(directory)
    if json:
        print_json(document(view))
    elif proof is not None:
        console().print(proof_tables(view, directory, proof))
    else:
        print_view(console(), view, directory)


def print_view(people: "Console", view: "RunView", directory: "RunDirectory") -> None:
    """Print one table a comparison, expectations if there are any, and what it all can say."""
    from paceline.report.shipped import defaults_table, normalised_sibling
    from paceline.report.tables import comparison_table, findings_table, meaning
    from paceline.report.verdicts import verdict_table

    shipped = view.run.conditions.policy == "as-shipped"
    normalised = normalised_sibling(directory, view.run) if shipped else None
    people.print()
    for index, comparison in enumerate(view.comparisons):
        people.print(comparison_table(view, comparison))
        for part in verdict_table(view, index):
            people.print(part)
        if shipped:
            people.print(defaults_table(view, directory, comparison, normalised))
            people.print()
    if (findings := findings_table(view)) is not None:
        people.print(findings)
    people.print(meaning(view))
    people.print()
