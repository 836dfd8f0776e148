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

    verification = verify_run(RunDirectory.open(run))
    disagreements = verification.disagreements
    if json:
        print_json(verification.model_dump(mode="json"))
    else:
        terminal = console()
        for text in disagreements:
            terminal.print(f"DISAGREES  {text}", markup=False, soft_wrap=True)
        terminal.print(
            f"{verification.numbers} numbers of {verification.trials} trials and {verification.proofs} proofs of same "
            "work derived again from the raw records: "
            f"{f'{len(disagreements)} disagreements' if disagreements else 'all agree'}"
        )
    if disagreements:
        raise typer.Exit(1)
