"""The priority of a thread relative to the others."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

BACKGROUND = 5
"""Gives a thread a third of the weight of threads that callers wait for."""


def be_nice(niceness: int = BACKGROUND) -> None:
    """Give the calling thread a niceness, 0 to 19, where the system sets it per thread.

    Not every user may lower it again. In that case it stays, and the thread still gets its share.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
