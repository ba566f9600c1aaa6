"""A file of JSON lines."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate_server.publishing.base import NotTakenError

if TYPE_CHECKING:
    from tidegate_server.publishing.messages import Message

_CHUNK = 65_536


class JsonLines:
    """A file with one message per line; only the owner can read a new file.

    Each batch opens the file again, so that another program may move it away at any time. Symbolic
    links, and anything but regular files, are never written to. An existing file keeps its mode.

    Args:
        path: the file's path, in an existing folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    async def send(self, messages: Sequence[Message]) -> None:
        """See :meth:`Destination.send`; on return, the lines are on stable storage."""
        try:
            await asyncio.to_thread(self._append, b"".join(each.body + b"\n" for each in messages))
        except OSError as error:
            raise NotTakenError(f"the file cannot be written: {error.strerror}") from error

    def _append(self, lines: bytes) -> None:
        # Non-blocking, since opening a pipe waits for its other end.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(self._path, flags, 0o600), "rb+") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is not a file")
            file.truncate(_end_of_lines(file.fileno()))
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    async def close(self) -> None:
        """See :meth:`Destination.close`."""


def _end_of_lines(descriptor: int) -> int:
    """Return the end of the last complete line.

    A kill may have left a partial line, which is sent again.
    """
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - _CHUNK)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
