"""The errors that a store raises.

StoreError
├── StoreUnavailableError  nothing can be written now; the work was not done
│   ├── StoreBusyError     too much waits already; the work was not taken
│   ├── HeldError           another process owns the data directory
│   ├── FencedError         another process became the owner; nothing of the work was taken
│   ├── TakenNumberError    the log goes on after another number than the append
│   ├── UnknownOutcomeError nobody can tell whether the work was kept
│   └── DamagedDatabaseError a page of the database is not what was written
├── ConflictError          another object has the name, or refers to the object
├── NotFoundError          the object doesn't exist
├── StaleRevisionError     the object has changed since it was read
├── DamagedLogError        a row of the decision log is not what was written
├── UnsafeDatabaseError    the database library or its settings could lose data
└── SchemaError            the tables are those of another version of Tidegate
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from collections.abc import Sequence

Standby: TypeAlias = Literal["required", "none"]
"""Whether a PostgreSQL commit must reach a second machine too."""


class StoreError(TidegateError):
    """Base of every error that a store raises deliberately."""

    code = "store-error"


class StoreUnavailableError(StoreError):
    """The store cannot write now: disk full, I/O error, locked, or closed."""

    code = "store-unavailable"


class StoreBusyError(StoreUnavailableError):
    """The queue of writes is full; nothing of the rejected work was accepted."""

    code = "store-busy"


class HeldError(StoreUnavailableError):
    """Another process owns the data directory; the message names it."""

    code = "directory-held"


class FencedError(StoreUnavailableError):
    """Another process has begun a new epoch: this one is no longer the owner."""

    code = "fenced"


class TakenNumberError(StoreUnavailableError):
    """The number at which an append begins is already in the log."""

    code = "taken-number"


class UnknownOutcomeError(StoreUnavailableError):
    """The connection ended, or the wait for the standby did: the work may be kept or lost."""

    code = "unknown-outcome"


class DamagedDatabaseError(StoreUnavailableError):
    """A page of the database is damaged; its rows cannot be read."""

    code = "damaged-database"


class ConflictError(StoreError):
    """A write conflicts with another object; if objects that refer to it are the reason,
    ``referrers`` names them."""

    code = "conflict"

    def __init__(self, message: str, referrers: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.referrers = tuple(referrers)


class NotFoundError(StoreError):
    """The object does not exist, or belongs to another tenant."""

    code = "not-found"

    def __init__(self, kind: str) -> None:
        super().__init__(f"there is no such {kind}")
        self.kind = kind


class StaleRevisionError(StoreError):
    """The object's revision is not the one that the change was based on."""

    code = "stale-revision"

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(f"the object is at revision {found}, the change is for {expected}")
        self.expected = expected
        self.found = found


class DamagedLogError(StoreError):
    """A row of the decision log fails its checksum or is missing.

    Attributes:
        seq: its first number.
        what: the fault.
        last_seq: its last number, if known.
    """

    code = "damaged-log"

    def __init__(self, seq: int, what: str, last_seq: int | None = None) -> None:
        super().__init__(f"row {seq} of `decision_log` {what}; restore the database from a backup")
        self.seq = seq
        self.what = what
        self.last_seq = seq if last_seq is None else last_seq


class UnsafeDatabaseError(StoreError):
    """The database could lose or damage acknowledged data."""

    code = "unsafe-database"


class SchemaError(StoreError):
    """The tables are older or newer than this code."""

    code = "wrong-schema"
