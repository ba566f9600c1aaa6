"""The resources that the processes of a server take."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import attrs

IDLE = 0.4
"""Processors of a server that has only the other tenant to answer."""
STILL = 3
"""Seconds that all have to be so: between two pieces of work a server is idle for one."""


@attrs.frozen
class Usage:
    """The resources that the processes of a server have taken so far.

    Attributes:
        resident: MiB of all of them.
        seconds: of processor, of those that still live.
    """

    resident: float
    seconds: float
    processes: int

    @classmethod
    def read(cls, pid: int) -> Usage:
        """The usage of a process and all its descendants."""
        resident = seconds = 0.0
        found = list(tree(pid))
        for each in found:
            try:
                pages = int(Path(f"/proc/{each}/statm").read_text().split()[1])
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            resident += pages * os.sysconf("SC_PAGE_SIZE") / 2**20
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return cls(resident, seconds, len(found))


def tree(pid: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            yield from tree(int(child))


def rest(pid: int, least: float, most: float) -> None:
    """Wait until the server has done what it was left with: logs to derive, sets to compile.

    Args:
        least: seconds that are waited for in any case.
        most: seconds after which the server is taken as it is.
    """
    ends = time.monotonic() + most
    time.sleep(least)
    idle = 0
    while idle < STILL and time.monotonic() < ends:
        before = Usage.read(pid).seconds
        time.sleep(1.0)
        idle = idle + 1 if Usage.read(pid).seconds - before < IDLE else 0
