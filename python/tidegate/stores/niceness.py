"""The priority of a thread beside the others."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

BACKGROUND = 5
"""Gives a third of the weight of the threads that somebody waits for."""


def be_nice(niceness: int = BACKGROUND) -> None:
    """Give the calling thread a niceness, 0 to 19, where the system allows one for each thread.

    Not every user may lower it again: then it stays as it is, and the thread still gets its share.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
