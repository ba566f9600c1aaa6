"""Freeing of the memory that a worker's work has taken."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path

GROWTH_BYTES = 32 * 2**20
"""Growth of a worker after which all its objects are searched for unused ones."""


class Tidying:
    """Collects the remains of a piece of work: definitions and trees refer to each other.

    What was there before is passed over: to search the definitions that a worker keeps takes
    longer than most of its work, and who asks next would wait for it.
    """

    def __init__(self) -> None:
        gc.freeze()
        self._held = resident_bytes(os.getpid())

    def tidy(self) -> None:
        """Collect after a piece of work."""
        has_grown = resident_bytes(os.getpid()) > self._held + GROWTH_BYTES
        if has_grown:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if has_grown:
            give_back_memory()
            self._held = resident_bytes(os.getpid())


def give_back_memory() -> None:
    """Give the system what the process has freed, where its C library can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes(pid: int) -> int:
    """The memory a process holds, where the system has it in a file; else 0."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
