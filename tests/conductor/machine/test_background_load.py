"""Outsiders are told from a trial's own processes, and what they used is what they used since."""

import os
import subprocess
import sys

import pytest

from paceline.conductor.machine.background_load import OutsideProcess, outside_cpu_s, read
from paceline.schema.records import TRIAL_MARKER


def outsider(own_s: float, children_s: float = 0.0, parent: int = 1, share: float = 1.0) -> OutsideProcess:
    return OutsideProcess(parent=parent, own_s=own_s, children_s=children_s, share=share)


@pytest.mark.parametrize(
    ("before", "after", "outside_s"),
    [
        ({(7, 0.0): outsider(5.0)}, {(7, 0.0): outsider(6.5)}, 1.5),
        ({}, {(7, 0.0): outsider(2.0, share=0.25)}, 0.5),
        ({(7, 0.0): outsider(0.0), (8, 0.0): outsider(90.0, parent=7)}, {(7, 0.0): outsider(0.0, 91.0)}, 1.0),
        ({(8, 0.0): outsider(90.0)}, {}, 0.0),
        (
            {(7, 0.0): outsider(0.0), (8, 0.0): outsider(1.0, parent=7), (9, 0.0): outsider(5.0, 60.0, parent=8)},
            {(7, 0.0): outsider(0.0, 68.0)},
            2.0,
        ),
    ],
    ids=["goes on", "is new", "has ended and was reaped", "has ended unseen", "has ended with its parent"],
)
def test_outsiders_time_is_what_they_used_since(
    before: dict[tuple[int, float], OutsideProcess], after: dict[tuple[int, float], OutsideProcess], outside_s: float
) -> None:
    assert outside_cpu_s(before, after) == pytest.approx(outside_s)


def test_what_carries_the_mark_is_no_outsider() -> None:
    marker = f"{TRIAL_MARKER}=mine"
    for environment, is_outsider in (({TRIAL_MARKER: "mine"}, False), ({TRIAL_MARKER: "another"}, True)):
        waits = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment)
        try:
            assert (waits.pid in {pid for pid, _ in read((0,), marker).outside}) == is_outsider
        finally:
            waits.communicate(b"\n")


def test_a_zombie_is_nobodys_outsider() -> None:
    ends = subprocess.Popen([sys.executable, "-c", ""], env={TRIAL_MARKER: "mine"})
    os.waitid(os.P_PID, ends.pid, os.WEXITED | os.WNOWAIT)  # it has ended and nobody has reaped it
    assert ends.pid not in {pid for pid, _ in read((0,), f"{TRIAL_MARKER}=mine").outside}
    ends.wait()
