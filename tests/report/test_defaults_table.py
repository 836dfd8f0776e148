"""What engines' own defaults did: read back from ranks, and beside the latest normalised run of the same suite."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from paceline.analysis.whole_run.view import view_run
from paceline.report.defaults_table import defaults_table, normalised_sibling
from paceline.store.run_directory import RunDirectory
from support.command_line import Cli
from support.records import edit_json
from support.runs import rows_of, text_of


@pytest.fixture
def shipped(recorded: Path, cli: Cli) -> RunDirectory:
    """The recorded run of the fake engine as if it had been as-shipped, beside which nothing lies yet."""
    folder = Path(shutil.copytree(recorded, cli.folder / "runs" / "shipped"))
    edit_json(folder / "run.json", lambda run: run["conditions"].update(policy="as-shipped"))
    return RunDirectory.open(folder)


def beside(shipped: RunDirectory, recorded: Path, name: str, **changes: Any) -> Path:
    """Put a normalised run beside it, with changes to its record."""
    folder = Path(shutil.copytree(recorded, shipped.path.parent / name))
    edit_json(folder / "run.json", lambda run: run.update(changes))
    return folder


def change_rank(shipped: RunDirectory, event: str, **changes: Any) -> None:
    """Change what rank 0 has read back."""
    (path,) = shipped.path.glob("trials/*/jobs/0/rank-0.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["event"] == event:
            line["value"] |= changes
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def row_of(shipped: RunDirectory) -> str:
    """Return the row of the only engine, with single blanks."""
    view = view_run(shipped)
    table = defaults_table(view, shipped, view.comparisons[0], normalised_sibling(shipped, view.run))
    return next(" ".join(words) for words in rows_of(table) if words[:1] == ["fake/fake@one"])


def test_the_latest_normalised_run_of_the_same_suite_is_the_sibling(shipped: RunDirectory, recorded: Path) -> None:
    run = shipped.run()
    assert normalised_sibling(shipped, run) is None
    (shipped.path.parent / "notes").mkdir()
    beside(shipped, recorded, "other-machine", machine=run.machine.model_dump() | {"cpu_model": "another"})
    beside(shipped, recorded, "other-versions", versions={"torch": "0.1"})
    assert normalised_sibling(shipped, run) is None
    beside(shipped, recorded, "late", started_at="2099-01-02T00:00:00+00:00")
    beside(shipped, recorded, "early", started_at="2099-01-01T00:00:00+00:00")
    found = normalised_sibling(shipped, run)
    assert found is not None
    assert found.run.started_at == "2099-01-02T00:00:00+00:00"


def test_without_a_sibling_the_title_says_so_and_nothing_is_compared(shipped: RunDirectory) -> None:
    view = view_run(shipped)
    assert "no normalised run" in text_of(defaults_table(view, shipped, view.comparisons[0], None))
    assert row_of(shipped).endswith(" -")


def test_what_was_in_force_is_read_back_from_the_first_rank(shipped: RunDirectory) -> None:
    environment = {"MALLOC_TOP_PAD_": None, "OMP_NUM_THREADS": "4"}
    change_rank(shipped, "conditions", intraop_threads=4, cores_per_rank=2, environment=environment)
    change_rank(
        shipped, "live", gradient_clipping=1.5, optimiser="torch.optim.AdamW", optimiser_settings={"foreach": False}
    )
    assert row_of(shipped).startswith("fake/fake@one 4 2 1.5 AdamW, one tensor at a time glibc's")
    change_rank(shipped, "conditions", environment={"MALLOC_TOP_PAD_": "1"})
    change_rank(shipped, "live", gradient_clipping=None, optimiser_settings={"foreach": None})
    assert row_of(shipped).startswith("fake/fake@one 4 2 no AdamW, torch's choice of loops tuned")


def test_the_headline_stands_beside_that_of_the_normalised_run(shipped: RunDirectory, recorded: Path) -> None:
    beside(shipped, recorded, "normalised")
    assert row_of(shipped).endswith(" 1.00 x samples/s")
    (result,) = shipped.path.glob("trials/*/result.json")

    def slow(record: dict[str, Any]) -> None:
        record["measures"]["samples_per_s"]["value"] /= 2
        record["flags"] = [{"name": "disturbed", "message": "others took 40%"}]

    edit_json(result, slow)
    assert row_of(shipped).endswith(" 0.50 x samples/s (disturbed)")


def test_a_trial_that_failed_shows_nothing(shipped: RunDirectory, recorded: Path) -> None:
    beside(shipped, recorded, "normalised")
    (result,) = shipped.path.glob("trials/*/result.json")

    def failed(record: dict[str, Any]) -> None:
        record.update(status="failed", cause="it broke")
        record["measures"]["samples_per_s"].update(value=None, reason="failed")

    edit_json(result, failed)
    assert row_of(shipped) == "fake/fake@one - - - - - -"
