"""Waiting for what other processes do."""

import time
from typing import Any


def until(condition: Any, patience_s: float = 60) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "what the test waits for did not happen"
        time.sleep(0.02)
