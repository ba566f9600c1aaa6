"""How much of the processor a thread asks for beside the others."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

BACKGROUND = 5
"""A third of the weight of the threads that somebody waits for."""


def be_nice(niceness: int = BACKGROUND) -> None:
    """Give the thread that calls a niceness, 0 to 19, where the system lets threads have one.

    Not everyone may make a thread less nice again: then it stays as it is, and gets its share.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
