"""``paceline run``: plan a suite, print the estimate, measure, print the tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.output import console, print_json, program

if TYPE_CHECKING:
    from rich.console import Console

    from paceline.analysis.whole_run.view import RunView
    from paceline.conductor.execution.campaign import Outcome
    from paceline.conductor.planning.plan import Plan
    from paceline.store.run_directory import RunDirectory

EXIT_FAILED = 1
"""Exit code of a run that is not valid."""
EXIT_BUDGET = 124
"""Exit code where the budget ended before the suite's fewest blocks were complete; that of ``timeout``."""
EXIT_INTERRUPTED = 130
"""Exit code after an interrupt, as shells give it: 128 + SIGINT."""


def run(
    suite: Annotated[str | None, typer.Argument(help="A built-in suite, or a YAML file.", show_default=False)] = None,
    engines: Annotated[str, typer.Option(help="Only these engines, separated by commas.")] = "",
    workloads: Annotated[str, typer.Option(help="Only these workloads, separated by commas.")] = "",
    category: Annotated[str | None, typer.Option(help="Only this category.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: a key of the suite, of all comparisons, or a path.")
    ] = None,
    blocks: Annotated[int | None, typer.Option(min=1, help="Number of blocks instead of the suite's.")] = None,
    budget: Annotated[str | None, typer.Option(help="Start no trial that would end later, e.g. 90s, 10m, 2h.")] = None,
    conditions: Annotated[str, typer.Option(help="normalised or as-shipped.")] = "normalised",
    seed: Annotated[int, typer.Option(min=0, help="Weights and order of samples derive from it.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Run directory to make (default: runs/<suite>-<time>).")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with an unfinished run: same plan, seeds, order.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost; start nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Train a suite's workloads on its engines; print the tables."""
    from paceline.conductor.execution import campaign
    from paceline.conductor.execution.progress import progress_for
    from paceline.conductor.planning import request
    from paceline.conductor.planning.filters import Filters
    from paceline.conductor.planning.plan import Plan
    from paceline.report.plan_table import opening_lines
    from paceline.store.run_directory import RunDirectory

    budget_s = request.seconds(budget) if budget else None
    if resume is not None:
        plan = Plan.of(request.resumed_run(RunDirectory.open(resume), suite))
    else:
        filters = Filters(request.names(engines), request.names(workloads), category)
        plan = request.planned(request.Request(suite, filters, blocks, conditions, seed, tuple(assignments or ())))
    if dry_run:
        _print_plan(plan, as_json=json)
        return
    with campaign.exclusive_machine():
        terminal = console(stderr=json)
        directory = RunDirectory.open(resume) if resume else request.begin(plan, out, terminal.print)
        record = directory.run()
        trials = campaign.trials_to_run(record, directory)
        terminal.print("\n".join(opening_lines(record, trials, directory.path)), soft_wrap=True, markup=False)
        outcome = campaign.execute(record, directory, progress_for(terminal, trials), budget_s)
    estimate_s = sum(seconds for _, seconds in trials)
    _finish(directory, outcome, estimate_s, terminal, as_json=json)


def _print_plan(plan: "Plan", *, as_json: bool) -> None:
    from paceline.report.plan_table import plan_document, plan_table

    if as_json:
        print_json(plan_document(plan.suite, plan.trials, plan.unavailable, plan.notes))
    else:
        console().print(plan_table(plan.suite, plan.trials, plan.unavailable, plan.notes))


def _finish(
    directory: "RunDirectory", outcome: "Outcome", estimate_s: float, terminal: "Console", *, as_json: bool
) -> None:
    """Print the results of a run and how it ended; raise ``typer.Exit`` with its exit code unless all is well."""
    from paceline.analysis.whole_run.validity import is_valid
    from paceline.analysis.whole_run.view import view_run
    from paceline.cli.show import print_view
    from paceline.conductor.execution.campaign import Stop
    from paceline.report.document import document

    view = view_run(directory)
    if as_json:
        print_json(document(view))
    else:
        print_view(terminal, view, directory)
    _print_ending(terminal, view, directory.path, outcome, estimate_s)
    if outcome.stop is Stop.INTERRUPTED:
        raise typer.Exit(EXIT_INTERRUPTED)
    if outcome.stop is Stop.BUDGET and outcome.whole_blocks < view.run.suite.minimum_blocks:
        raise typer.Exit(EXIT_BUDGET)
    if not is_valid(view):
        raise typer.Exit(EXIT_FAILED)


def _print_ending(terminal: "Console", view: "RunView", path: Path, outcome: "Outcome", estimate_s: float) -> None:
    from paceline.conductor.execution.campaign import Stop
    from paceline.conductor.planning import request

    minutes = None
    if view.run.suite.name == "quick" and outcome.stop is Stop.DONE and estimate_s:
        # This machine's own pace on quick corrects the estimate for standard.
        minutes = request.estimated_minutes("standard", view.run.conditions.policy) * outcome.wall_s / estimate_s
    terminal.print("\n".join(ending(path, outcome, estimate_s, minutes)), soft_wrap=True, markup=False)


def ending(path: Path, outcome: "Outcome", estimate_s: float, standard_min: float | None) -> list[str]:
    """Return the last lines of a run: sentences fit 100 columns, a path or a command has a line of its own.

    ``standard_min`` is set where the next thing to do is the suite ``standard``, which would take so many minutes.
    """
    from paceline.conductor.execution.campaign import Stop

    lines = []
    go_on = ["go on with:", f"  {program()} run --resume {path}"]
    if outcome.stop is Stop.INTERRUPTED:
        lines += [f"Interrupted. All finished trials are kept; {go_on[0]}", go_on[1]]
    elif outcome.stop is Stop.BUDGET:
        lines += [f"Budget used up after {outcome.whole_blocks} whole blocks; {go_on[0]}", go_on[1]]
    lines += [
        f"Took {outcome.wall_s / 60:.1f} min; the estimate was {estimate_s / 60:.1f} min.",
        f"Run directory: {path}",
        f"  show it again:  {program()} show {path}",
        f"  check it:       {program()} verify {path}",
    ]
    if standard_min is not None:
        lines.append(f"  what is next:   {program()} run standard   (about {standard_min:.0f} min)")
    return lines
