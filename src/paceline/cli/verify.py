"""``paceline verify``: every printed number derived again from the raw records."""

from pathlib import Path
from typing import Annotated

import typer

from paceline.cli.output import console, print_json


def verify(
    run: Annotated[Path, typer.Argument(help="A run directory.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Derive every number again; exit 1 if anything disagrees."""
    from paceline.report.verification import verify_run
    from paceline.store.run_directory import RunDirectory

    found = verify_run(RunDirectory.open(run))
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        terminal = console()
        for text in found.disagreements:
            terminal.print(f"DISAGREES  {text}", markup=False, soft_wrap=True)
        terminal.print(
            f"{found.numbers} numbers of {found.trials} trials and {found.proofs} proofs of same work derived again "
            "from the raw records: "
            f"{'all agree' if not found.disagreements else f'{len(found.disagreements)} disagreements'}"
        )
    if found.disagreements:
        raise typer.Exit(1)
