"""Entry point of ``paceline``: commands, and errors turned into exit codes."""

import sys

import typer

from paceline.cli import doctor, listing, run, show, verify

app = typer.Typer(
    name="paceline",
    help="Which distributed-training framework should run this job on this hardware, and how sure are we?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("show")(show.show)
app.command("verify")(verify.verify)
app.command("list")(listing.list_things)
app.command("doctor")(doctor.doctor)


@app.callback()
def _root() -> None:
    """Which distributed-training framework should run this job on this hardware, and how sure are we?"""


def main() -> None:
    """Run the command line; a wrong request exits with 2, an unreadable record with 1, each with one message."""
    from paceline.spec.errors import PacelineError, RequestError

    try:
        app()
    except RequestError as error:
        print(f"paceline: {error}", file=sys.stderr)
        sys.exit(2)
    except PacelineError as error:
        print(f"paceline: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has left: nothing to say, and nobody to say it to
        sys.exit(1)


if __name__ == "__main__":
    main()
