"""``paceline doctor``: what works on this machine, what does not, and the line that mends it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.output import console, print_json

if TYPE_CHECKING:
    from paceline.conductor.machine.doctor import Check


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
        console().print("\n".join(found(checks)), soft_wrap=True, markup=False)
    if any(check.status == "fail" for check in checks):
        raise typer.Exit(1)


def found(checks: "list[Check]") -> Iterator[str]:
    """Yield one line a check, and the line that mends it below: paths and commands stay whole, whatever the width."""
    width = max(len(check.name) for check in checks)
    for check in checks:
        yield f"{check.status:<4}  {check.name:<{width}}  {check.found}".rstrip()
        if check.fix:
            yield f"      fix: {check.fix}"
