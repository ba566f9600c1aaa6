"""The end of the log, recorded next to the database, so that a lost end is noticed.

A truncated write-ahead log ends earlier and looks complete.  So every commit of decisions records
its last number here before any caller hears of it.  The record is a few bytes of memory that the
kernel keeps when the process is killed; about every second it is flushed, in case of a power
failure.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

import attrs
import xxhash

from tidegate_server.stores.base import StoreUnavailableError

_BYTES = 4_096
_SLOTS = (0, 512)
"""Written alternately, so that a torn record leaves the previous one."""
_FORM = struct.Struct("<8sqqq")
_CHECK = struct.Struct("<Q")
_MAGIC = b"tgmark01"


@attrs.frozen(order=True)
class Noted:
    """A lower bound of what was committed.

    Attributes:
        seq: number of the last decision.
        changes: commits of anything else.
        log_id: id of the log.
    """

    seq: int
    changes: int
    log_id: int


def mark_path(database: Path) -> Path:
    """The file next to a database."""
    return database.with_name(database.name + "-mark")


def read_mark(database: Path) -> Noted | None:
    """The newest readable record; None if there isn't one."""
    try:
        with mark_path(database).open("rb") as file:
            content = file.read(_BYTES)
    except OSError:
        return None
    found = [noted for at in _SLOTS if (noted := _decode(content, at)) is not None]
    return max(found, default=None)


class Mark:
    """The records of a database's owner; one thread writes them.

    Args:
        database: its path.

    Raises:
        StoreUnavailableError: the file cannot be created.
    """

    def __init__(self, database: Path) -> None:
        path = mark_path(database)
        try:
            self._descriptor = os.open(
                path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            # Write all of it once, to reserve its space before the disk is full.
            content = os.pread(self._descriptor, _BYTES, 0).ljust(_BYTES, b"\0")
            os.pwrite(self._descriptor, content, 0)
            os.ftruncate(self._descriptor, _BYTES)
            os.fsync(self._descriptor)
            self._memory = mmap.mmap(self._descriptor, _BYTES)
        except OSError as error:
            raise StoreUnavailableError(f"`{path}` cannot be written: {error.strerror}") from None
        self._slot = 0
        self._is_flushed = True

    def note(self, noted: Noted) -> None:
        """Record the committed end: a copy in memory, without a system call."""
        packed = _FORM.pack(_MAGIC, noted.log_id, noted.seq, noted.changes)
        at = _SLOTS[self._slot]
        self._memory[at : at + _FORM.size + _CHECK.size] = packed + _CHECK.pack(_hash(packed))
        self._slot = 1 - self._slot
        self._is_flushed = False

    def flush(self) -> None:
        """Flush the records to stable storage; any thread may call this."""
        if not self._is_flushed:
            self._is_flushed = True
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Flush and close."""
        self.flush()
        self._memory.close()
        os.close(self._descriptor)


def _decode(content: bytes, at: int) -> Noted | None:
    packed = content[at : at + _FORM.size]
    check = content[at + _FORM.size : at + _FORM.size + _CHECK.size]
    if check != _CHECK.pack(_hash(packed)) or not packed.startswith(_MAGIC):
        return None
    _, log_id, seq, changes = _FORM.unpack(packed)
    return Noted(seq, changes, log_id)


def _hash(packed: bytes) -> int:
    return xxhash.xxh3_64_intdigest(packed)
