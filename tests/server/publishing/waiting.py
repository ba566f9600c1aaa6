"""Waiting for what a service does beside its answers."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 30.0


def wait_for(holds: Callable[[], bool]) -> None:
    """Return when something holds."""
    until = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < until, "it never held"
        time.sleep(0.02)
