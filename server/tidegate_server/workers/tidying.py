"""Free the memory that a worker's job has used."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path

GROWTH_BYTES = 32 * 2**20
"""After this much growth of a worker, all its objects are searched for unused ones."""
YOUNG, OLDER, OLDEST = 100_000, 50, 1_000
"""New objects before the collector searches these, and searches between those of older ones."""


class Tidying:
    """Collects the garbage of a job: definitions and trees refer to each other.

    Older objects are skipped: searching the definitions that a worker keeps takes longer than most
    of its jobs, and the next caller would wait for it.
    """

    def __init__(self) -> None:
        # While definitions are read, nearly all new objects stay: with the usual thresholds the
        # collector searches them again and again, for a third of the time.
        gc.set_threshold(YOUNG, OLDER, OLDEST)
        gc.freeze()
        self._held = resident_bytes(os.getpid())

    def tidy(self) -> None:
        """Collect garbage after a job."""
        has_grown = resident_bytes(os.getpid()) > self._held + GROWTH_BYTES
        if has_grown:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if has_grown:
            give_back_memory()
            self._held = resident_bytes(os.getpid())


def give_back_memory() -> None:
    """Return freed memory to the system, if the C library can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes(pid: int) -> int:
    """Return a process's resident memory, or 0 if the system has no file that tells it."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
