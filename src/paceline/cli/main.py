"""Entry point of ``paceline``: commands, and errors turned into exit codes."""

import sys
from typing import Annotated

import typer

from paceline.cli import choose, compare, doctor, listing, run, show, verify

app = typer.Typer(
    name="paceline",
    help="Which distributed-training framework should run this job on this hardware, and how sure are we?",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help, because drawing boxes takes 50 ms
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("show")(show.show)
app.command("verify")(verify.verify)
app.command("compare")(compare.compare)
app.command("choose")(choose.choose)
app.command("list")(listing.list_things)
app.command("doctor")(doctor.doctor)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        import paceline

        print(paceline.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Which distributed-training framework should run this job on this hardware, and how sure are we?"""


def main() -> None:
    """Run the command line; a wrong request exits with 2, an unreadable record with 1, each with one message."""
    from paceline.errors import PacelineError, RequestError

    try:
        app()
    except RequestError as error:
        print(f"paceline: {error}", file=sys.stderr)
        sys.exit(2)
    except PacelineError as error:
        print(f"paceline: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()  # whatever read the output has closed the pipe, so Python's complaint would be noise
        sys.exit(1)


if __name__ == "__main__":
    main()
