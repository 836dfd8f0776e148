"""``paceline run``: plan, say what it will take, measure, show."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.output import console, print_json, program

if TYPE_CHECKING:
    from rich.console import Console

    from paceline.bench.campaign import Outcome
    from paceline.bench.plan import Plan
    from paceline.report.view import RunView
    from paceline.spec.run import Run
    from paceline.store.run_directory import RunDirectory

EXIT_FAILED = 1
EXIT_BUDGET = 124
EXIT_INTERRUPTED = 130


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
    from paceline.bench import campaign, facts, request
    from paceline.bench.progress import progress_for
    from paceline.report import PROSE_COLUMNS
    from paceline.store.run_directory import RunDirectory

    budget_s = request.seconds(budget) if budget else None
    if resume is not None:
        directory = RunDirectory.open(resume)
        record = request.resumed(directory, suite)
        plan = None
    else:
        record, plan = request.requested(
            suite,
            engines=request.names(engines),
            workloads=request.names(workloads),
            category=category,
            blocks=blocks,
            conditions=conditions,
            seed=seed,
            assignments=tuple(assignments or ()),
        )
    if dry_run:
        _print_plan(record, plan, as_json=json)
        return
    if plan is not None:
        request.refuse_unavailable(plan)
    with campaign.exclusive_machine():
        people = console(stderr=True) if json else console()
        if resume is None:
            record = facts.counted(record, people.print)
            directory = RunDirectory.create(out or request.default_directory(record), record)
        to_do = request.to_do(record, directory)
        timed_s, proof_s = (sum(s for t, s in to_do if (t.proof is None) is timed) for timed in (True, False))
        proofs = sum(trial.proof is not None for trial, _ in to_do)
        proving = f", and {proofs} proofs of same work, about {proof_s / 60:.1f} min," if proofs else ""
        people.print(
            f"Suite {record.suite.name}: {len(to_do) - proofs} trials, about {timed_s / 60:.1f} min{proving} "
            f"(estimates) on {record.machine.cpu_model}, {len(record.machine.cpu_devices)} cores.",
            width=PROSE_COLUMNS,
            markup=False,
        )
        people.print(f"Run directory: {directory.path}", soft_wrap=True, markup=False)
        outcome = campaign.execute(record, directory, progress_for(people, to_do), budget_s)
    _finish(directory, outcome, timed_s + proof_s, people, as_json=json)


def _finish(
    directory: "RunDirectory", outcome: "Outcome", estimate_s: float, people: "Console", *, as_json: bool
) -> None:
    """Print what was measured and exit with the code that says how it went."""
    from paceline.bench.campaign import Stop
    from paceline.cli.show import print_view
    from paceline.report.document import document
    from paceline.report.view import view_run

    view = view_run(directory)
    if as_json:
        print_json(document(view))
    else:
        print_view(people, view, directory)
    _print_ending(people, view, directory.path, outcome, estimate_s)
    if outcome.stop is Stop.INTERRUPTED:
        raise typer.Exit(EXIT_INTERRUPTED)
    if outcome.stop is Stop.BUDGET and outcome.whole_blocks < view.run.suite.minimum_blocks:
        raise typer.Exit(EXIT_BUDGET)
    if not _all_well(view):
        raise typer.Exit(EXIT_FAILED)


def _all_well(view: "RunView") -> bool:
    """Expectations must hold; a trial may only fail where the suite expects exactly that.

    Under ``as-shipped`` engines may do different work: that is what such a run is for.
    """
    expected_to_fail = {
        engine
        for comparison in view.run.suite.comparisons
        for engine, expectations in comparison.expect.items()
        if any(e.status not in (None, "ok") for e in expectations)
    }
    failed = [c for c in view.cells if c.failed and str(c.cell.engine) not in expected_to_fail]
    normalised = view.run.conditions.policy == "normalised"
    different = [w for w in view.work.values() if normalised and w.outcome == "different"]
    return not failed and not different and all(finding.holds for finding in view.findings)


def _print_ending(people: "Console", view: "RunView", path: Path, outcome: "Outcome", estimate_s: float) -> None:
    from paceline.bench import request
    from paceline.bench.campaign import Stop

    minutes = None
    if view.run.suite.name == "quick" and outcome.stop is Stop.DONE and estimate_s:
        # This machine's own pace on quick corrects the estimate for standard.
        minutes = request.estimated_minutes("standard", view.run.conditions.policy) * outcome.wall_s / estimate_s
    people.print("\n".join(ending(path, outcome, estimate_s, minutes)), soft_wrap=True, markup=False)


def ending(path: Path, outcome: "Outcome", estimate_s: float, standard_min: float | None) -> list[str]:
    """Return the last lines of a run: sentences fit 100 columns, a path or a command has a line of its own.

    ``standard_min`` is set where the next thing to do is the suite ``standard``, which would take so many minutes.
    """
    from paceline.bench.campaign import Stop

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


def _print_plan(record: "Run", plan: "Plan | None", *, as_json: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from paceline.bench import estimate

    unavailable = plan.unavailable if plan else {}
    rows = [(trial, estimate.trial_s(trial)) for trial in record.plan]
    if as_json:
        print_json(
            {
                "suite": record.suite.name,
                "trials": [
                    {
                        "id": t.id,
                        "category": t.cell.category,
                        "engine": str(t.cell.engine),
                        "workload": t.cell.workload,
                        "block": t.block,
                        "estimate_s": round(s, 1),
                    }
                    for t, s in rows
                ],
                "estimate_s": round(record.estimate_s, 1),
                "unavailable": unavailable,
                "notes": list(record.notes),
            }
        )
        return
    people = console()
    table = Table(title=f"Plan of suite {record.suite.name} (nothing is started)", title_justify="left", pad_edge=False)
    for title in ("block", "category", "workload", "engine", "ranks", "jobs", "estimate s"):
        table.add_column(title)
    for trial, seconds in rows:
        cell = trial.cell
        mark = " (unavailable)" if {str(cell.engine), cell.workload} & unavailable.keys() else ""
        table.add_row(
            str(trial.block + 1),
            cell.category,
            cell.workload,
            f"{cell.engine}{mark}",
            str(cell.ranks),
            str(cell.load.jobs),
            f"{seconds:.0f}",
        )
    people.print(table)
    for name, reason in unavailable.items():
        people.print(Text(f"{name}: {reason}"))
    for note in record.notes:
        people.print(Text(note))
    people.print(f"{len(rows)} trials, about {record.estimate_s / 60:.1f} min (estimate)")
