"""A file of JSON lines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.server.publishing.base import NotTakenError

if TYPE_CHECKING:
    from tidegate.server.publishing.messages import Message

_CHUNK = 65_536


class JsonLines:
    """A file with one message a line, readable by its owner alone.

    Each batch opens the file again, so that another program may move it away at any time.

    Args:
        path: of the file; its folder is there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    async def send(self, messages: Sequence[Message]) -> None:
        """See :meth:`Destination.send`; the lines are on stable storage then."""
        try:
            await asyncio.to_thread(self._append, b"".join(each.body + b"\n" for each in messages))
        except OSError as error:
            raise NotTakenError(f"the file cannot be written: {error.strerror}") from error

    def _append(self, lines: bytes) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with os.fdopen(os.open(self._path, flags, 0o600), "r+b") as file:
            file.truncate(_end_of_lines(file.fileno()))
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    async def close(self) -> None:
        """See :meth:`Destination.close`."""


def _end_of_lines(descriptor: int) -> int:
    """The end of the last whole line: a kill may have left a part of one, which is sent again."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - _CHUNK)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
