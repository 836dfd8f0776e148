"""Records as they are written and read back."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from paceline.drivers.events import Events
from paceline.schema.records import DriverEvent
from paceline.store.run_directory import TrialDirectory


@pytest.mark.parametrize(
    "event",
    [
        DriverEvent(event=DriverEvent.Kind.ACCEPTING, t_ns=5),
        DriverEvent(event=DriverEvent.Kind.SUBMITTED, t_ns=6, job=0),
        DriverEvent(event=DriverEvent.Kind.RELEASED, t_ns=7, job=0, error="out of memory"),
    ],
)
def test_a_drivers_event_reads_back_as_it_was_written(event: DriverEvent) -> None:
    assert DriverEvent.model_validate_json(event.model_dump_json()) == event


def test_what_a_driver_writes_the_conductor_reads(tmp_path: Path) -> None:
    directory = TrialDirectory(tmp_path)
    assert list(directory.driver_events()) == []
    events = Events(str(directory.driver_events_file))
    events.accepting()
    events.submitted(3)
    events.released(3, "it failed")
    read = list(directory.driver_events())
    assert [(e.event.value, e.job, e.error) for e in read] == [
        ("accepting", None, None),
        ("submitted", 3, None),
        ("released", 3, "it failed"),
    ]
    assert [e.t_ns for e in read] == sorted(e.t_ns for e in read)


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(ValidationError):
        DriverEvent.model_validate({"event": "started", "t_ns": 5})
