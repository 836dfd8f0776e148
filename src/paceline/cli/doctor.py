"""``paceline doctor``: what works on this machine, what does not, and the line that mends it."""

from typing import Annotated

import typer

from paceline.cli.output import console, print_json


def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Prebuild operators that would otherwise compile inside a trial.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Check this machine; exit 1 if a needed thing fails."""
    from paceline.conductor.machine import doctor

    terminal = console(stderr=True)
    if fix:
        doctor.prebuild_operators(lambda text: terminal.print(text, soft_wrap=True))
    checks = doctor.diagnose()
    if json:
        print_json({"checks": [check.model_dump(mode="json") for check in checks]})
    else:
        from rich.table import Table
        from rich.text import Text

        table = Table(pad_edge=False, box=None)
        for title in ("status", "check", "found", "fix"):
            table.add_column(title)
        for check in checks:
            table.add_row(check.status, check.name, Text(check.found), Text(check.fix or ""))
        console().print(table)
    if any(check.status == "fail" for check in checks):
        raise typer.Exit(1)
