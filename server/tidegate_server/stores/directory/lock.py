"""One owner of a data directory: it holds an operating system lock as long as it lives.

Two servers on one directory would each decide with a state that knows half of what happened.  The
file itself is locked, not its content: the lock ends with its holder, however that happens, and the
content only describes the holder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakSet

import attrs
import orjson

from tidegate_server.stores.base import HeldError, StoreUnavailableError

_MAX_BYTES = 4_096
"""Bytes read from the file; a description is shorter."""


@attrs.frozen
class Holder:
    """The holder of the lock, as it described itself."""

    pid: int | None = None
    host: str | None = None
    since: str | None = None
    """Time in RFC 3339."""
    address: str | None = None
    """The address it serves on; None before it serves, and for a command."""

    def __str__(self) -> str:
        if self.pid is None:
            return "another process"
        serving = f", serving on {self.address}" if self.address else ""
        return f"process {self.pid} on {self.host}, since {self.since}{serving}"


@attrs.define(eq=False, weakref_slot=True)
class Lock:
    """The held lock of a database's directory; see :func:`claim`."""

    path: Path
    _descriptor: int
    _since: str = attrs.field(factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def describe(self, address: str | None = None) -> None:
        """Write down the holder, for rejected processes."""
        content = self.description(address).encode()
        # A full disk loses the description, not the lock.
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, content, 0)

    def description(self, address: str | None = None) -> str:
        """The holder as text."""
        holder = Holder(os.getpid(), socket.gethostname(), self._since, address)
        return orjson.dumps(attrs.asdict(holder)).decode()

    def share(self) -> None:
        """Let processes forked from this one hold it too; it is free when all have ended."""
        _HELD.discard(self)

    def release(self) -> None:
        """Release the lock; calling it again does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            _HELD.discard(self)
            os.close(descriptor)


_HELD: WeakSet[Lock] = WeakSet()


def _forget_in_child() -> None:
    """A forked process isn't the owner, and must not hold the lock after its parent has ended."""
    for lock in list(_HELD):
        lock.release()


os.register_at_fork(after_in_child=_forget_in_child)


def lock_path(database: Path) -> Path:
    """The file that the owner of a database locks."""
    return database.with_name(database.name + "-lock")


def claim(database: Path, waits: Callable[[Holder], None] | None = None) -> Lock:
    """Become the one process that appends to the log of a database.

    Args:
        database: its path; the directory exists.
        waits: called with any current holder before waiting for its end; without ``waits`` the call
            does not wait.

    Raises:
        HeldError: another process holds the lock.
        StoreUnavailableError: the file cannot be opened.
    """
    path = lock_path(database)
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = read_holder(path)
            if waits is None:
                os.close(descriptor)
                raise HeldError(
                    f"`{path.parent}` belongs to {holder}; stop it, or use another directory, or"
                    " wait for its end with `tidegate serve --wait-for-lock`"
                ) from None
            waits(holder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_file_of(path, descriptor):
            break
        # The file was removed or replaced meanwhile: the new one counts.
        os.close(descriptor)
    lock = Lock(path, descriptor)
    _HELD.add(lock)
    lock.describe()
    return lock


def read_holder(path: Path) -> Holder:
    """The holder of a lock, from the file."""
    try:
        with path.open("rb") as file:
            found = orjson.loads(file.read(_MAX_BYTES))
        return Holder(found["pid"], found["host"], found["since"], found["address"])
    except (OSError, ValueError, KeyError, TypeError):
        return Holder()


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StoreUnavailableError(f"`{path}` cannot be opened: {error.strerror}") from None


def _is_file_of(path: Path, descriptor: int) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))
