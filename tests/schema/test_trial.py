"""A cell: its names, its sizes, the single process beside it, and how older records are read."""

import json

import pytest

from paceline.schema.engine import EngineName
from paceline.schema.suite import Load, Variant
from paceline.schema.trial import Cell
from support.builders import make_cell
from support.runs import make_trial


def test_the_single_process_takes_every_ranks_micro_batches_one_after_another() -> None:
    cell = make_cell(
        engine=EngineName("deepspeed", "zero2", "fast"),
        variant=Variant(compile=True),
        ranks=4,
        cores_per_rank=2,
        accumulation=3,
        micro_batch=8,
    )
    alone = cell.as_single_process()
    assert str(alone.engine) == "python/single"
    assert alone.variant == Variant()
    assert alone.layout == (1, 1)
    assert (alone.micro_batch, alone.accumulation) == (8, 12)
    assert alone.global_batch == cell.global_batch == 96
    kept = {"engine", "variant", "ranks", "cores_per_rank", "accumulation"}
    assert alone.model_dump(exclude=kept) == cell.model_dump(exclude=kept)


@pytest.mark.parametrize(("workload", "trains"), [("fake", False), ("lenet5", True), ("spirals:Spirals", True)])
def test_records_from_before_trains_existed_say_what_they_did(workload: str, trains: bool) -> None:
    record = json.loads(make_cell(workload=workload).model_dump_json())
    del record["trains"]
    assert Cell.model_validate(record).trains == trains


def test_a_record_that_says_whether_it_trains_is_believed() -> None:
    record = json.loads(make_cell(trains=True).model_dump_json())
    assert Cell.model_validate(record).trains


def test_a_cell_reads_back_as_it_was_written() -> None:
    cell = make_cell(engine=EngineName("fake", "fake", "one"), variant=Variant(settings={"step_s": 0.5}))
    assert Cell.model_validate_json(cell.model_dump_json()) == cell


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "moderate-complexity-fake-fake-fake-2r"),
        ({"load": Load(jobs=5), "ranks": 1}, "moderate-complexity-fake-fake-fake-5x1r"),
        ({"accumulation": 2}, "moderate-complexity-fake-fake-fake-2r-a2"),
        ({"recipe": "amp"}, "moderate-complexity-fake-fake-fake-2r-amp"),
        ({"workload": "a:B"}, "moderate-complexity-a.B-fake-fake-2r-generated"),
    ],
)
def test_the_id_tells_cells_of_a_suite_apart(changes: dict, name: str) -> None:
    assert make_cell(**changes).id == name


@pytest.mark.parametrize(
    ("changes", "metric"),
    [({}, "samples_per_s"), ({"load": Load(jobs=2)}, "makespan_s"), ({"evaluate": True}, "test_accuracy")],
)
def test_the_headline_follows_from_the_load(changes: dict, metric: str) -> None:
    assert make_cell(**changes).headline_metric == metric


@pytest.mark.parametrize(
    ("ranks", "cores", "slots"),
    [(1, 1, [(0,), (1,)]), (2, 1, [(0, 1)]), (1, 2, [(0, 1)]), (3, 1, [(0, 1)])],
)
def test_slots_are_fixed_shares_of_the_devices(ranks: int, cores: int, slots: list[tuple[int, ...]]) -> None:
    assert make_trial(ranks=ranks, cores_per_rank=cores).slots == slots
