"""``paceline show``: the tables of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.output import console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from paceline.analysis.whole_run.view import RunView
    from paceline.store.run_directory import RunDirectory


def show(
    run: Annotated[Path, typer.Argument(help="A run directory.", show_default=False)],
    proof: Annotated[
        str | None, typer.Option(help="Losses and live settings of a workload, engines side by side.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Print the tables of a run."""
    from paceline.analysis.whole_run.view import view_run
    from paceline.report.document import document
    from paceline.report.proof_tables import proof_tables
    from paceline.store.run_directory import RunDirectory

    directory = RunDirectory.open(run)
    view = view_run(directory)
    if json:
        print_json(document(view))
    elif proof is not None:
        console().print(proof_tables(view, directory, proof))
    else:
        print_view(console(), view, directory)


def print_view(terminal: "Console", view: "RunView", directory: "RunDirectory") -> None:
    """Print a table for each comparison with its verdicts, the suite's expectations, and what the tables can say."""
    from paceline.report.defaults_table import defaults_table, normalised_sibling
    from paceline.report.tables import comparison_table, expectations_table, meaning
    from paceline.report.verdict_table import verdict_table
    from paceline.schema.conditions import Policy

    as_shipped = view.run.conditions.policy is Policy.AS_SHIPPED
    normalised = normalised_sibling(directory, view.run) if as_shipped else None
    terminal.print()
    for index, comparison in enumerate(view.comparisons):
        terminal.print(comparison_table(view, comparison))
        for part in verdict_table(view, index):
            terminal.print(part)
        if as_shipped:
            terminal.print(defaults_table(view, directory, comparison, normalised))
            terminal.print()
    if (expectations := expectations_table(view)) is not None:
        terminal.print(expectations)
    terminal.print(meaning(view))
    terminal.print()
