"""The text of a recommendation, for the terminal."""

from rich.console import Group
from rich.text import Text

from paceline.analysis.whole_run.choice import Choice
from paceline.analysis.whole_run.view import ComparisonView


def choice_text(comparison: ComparisonView, choice: Choice) -> Group:
    """Return the choice of one comparison as lines of text: the engine, the reason, the cost of being wrong."""
    definition = comparison.definition
    lines = [Text(f"{definition.category.heading}: {definition.workload}", style="bold")]
    if choice.engine is None:
        lines.append(Text(f"no recommendation: {choice.reason}"))
    elif choice.too_close and choice.runner_up:
        why = "too few blocks to call" if choice.regret is None else "too close to call"
        lines.append(Text(f"{why}: {choice.engine}, nominally before {choice.runner_up}"))
    else:
        lines.append(Text(f"take {choice.engine}" + (f", else {choice.runner_up}" if choice.runner_up else "")))
    if choice.engine is not None:
        lines.append(Text(f"why: {choice.reason}"))
    if choice.regret is not None:
        lines.append(Text(f"expected cost of choosing wrong: {choice.regret:.2%}"))
    lines += [Text(text) for text in choice.would_change]
    lines += [Text(mark, style="yellow") for mark in choice.marks]
    return Group(*lines, Text())
