"""The port: what a store does, and the errors it raises.

StoreError
├── StoreUnavailableError  nothing can be written now; the work was not done
│   ├── StoreBusyError     too much waits already; the work was not taken
│   ├── HeldError           another process owns the data directory
│   ├── FencedError         another process became the owner; nothing of the work was taken
│   ├── TakenNumberError    the log goes on after another number than the append
│   ├── UnknownOutcomeError nobody can tell whether the work was kept
│   └── DamagedDatabaseError a page of the database is not what was written
├── ConflictError          another object has the name, or refers to the object
├── NotFoundError          there is no such object
├── StaleRevisionError     the object has changed since it was read
├── DamagedLogError        a row of the decision log is not what was written
├── UnsafeDatabaseError    the database library or its settings could lose data
└── SchemaError            the tables are those of another version of Tidegate
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

import attrs

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from tidegate.stores.decision_log.gaps import LogGap
    from tidegate.stores.decision_log.lines import LogBlock

T = TypeVar("T")
Standby: TypeAlias = Literal["required", "none"]
"""Whether a commit of PostgreSQL has to be on a second machine too."""


class StoreError(TidegateError):
    """Base of every error that a store raises on purpose."""

    code = "store-error"


class StoreUnavailableError(StoreError):
    """The store cannot write now: disk full, input or output error, locked, or closed."""

    code = "store-unavailable"


class StoreBusyError(StoreUnavailableError):
    """The queue of writes is full; no part of the refused work was taken."""

    code = "store-busy"


class HeldError(StoreUnavailableError):
    """Another process owns the data directory; the message names it."""

    code = "directory-held"


class FencedError(StoreUnavailableError):
    """Another process has begun a new epoch: this one is the owner no more."""

    code = "fenced"


class TakenNumberError(StoreUnavailableError):
    """The number that an append begins with is in the log already."""

    code = "taken-number"


class UnknownOutcomeError(StoreUnavailableError):
    """The connection ended, or the standby was not waited for: the work may be kept or lost."""

    code = "unknown-outcome"


class DamagedDatabaseError(StoreUnavailableError):
    """A page of the database is damaged; its rows cannot be read."""

    code = "damaged-database"


class ConflictError(StoreError):
    """A write meets another object; ``referrers`` names the objects that refer to it, if that is
    why."""

    code = "conflict"

    def __init__(self, message: str, referrers: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.referrers = tuple(referrers)


class NotFoundError(StoreError):
    """The object does not exist, or it is another tenant's."""

    code = "not-found"

    def __init__(self, kind: str) -> None:
        super().__init__(f"there is no such {kind}")
        self.kind = kind


class StaleRevisionError(StoreError):
    """The object is at another revision than the one the change was made for."""

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
        last_seq: its last number, as far as that is known.
    """

    code = "damaged-log"

    def __init__(self, seq: int, what: str, last_seq: int | None = None) -> None:
        super().__init__(f"row {seq} of `decision_log` {what}; restore the database from a backup")
        self.seq = seq
        self.what = what
        self.last_seq = seq if last_seq is None else last_seq


class UnsafeDatabaseError(StoreError):
    """The database could lose or damage what it acknowledged."""

    code = "unsafe-database"


class SchemaError(StoreError):
    """The tables are older or newer than this code."""

    code = "wrong-schema"


@attrs.frozen
class StoreStatistics:
    """Figures of a store about its writing, for metrics."""

    waiting_entries: int
    """Log entries accepted and not yet committed."""
    waiting_writes: int
    oldest_waiting_seconds: float
    """How long the oldest accepted work waits; 0 when nothing does."""
    commits: int
    committed_entries: int
    committed_writes: int
    failed_commits: int
    commit_seconds: float
    """Time spent in commits, all together."""
    last_commit_seconds: float
    longest_write_seconds: float
    """The longest that one change held up commits, since the start; without the flush."""
    committed_seq: int
    """Number of the last decision in the log."""
    indexed_seq: int
    """Number of the last decision that counts and idempotency know."""
    learned_seq: int
    """Number of the last decision that the field catalog knows."""
    index_seconds: float
    """Time spent indexing, all together."""
    learning_seconds: float
    """Time that the field catalog spent learning, all together."""
    index_error: str | None
    """Why indexing makes no progress, or None."""


class Store(Protocol):
    """Keeps definitions, decisions and everything else of the service.

    Every method may be called from any thread.  A store writes on one thread, in
    the order it was asked: a write sees every append before it and none after.
    """

    def write(self, work: Callable[[Connection], T], *, quietly: bool = False) -> Future[T]:
        """Run ``work`` in a transaction; the result comes after the commit.

        Args:
            work: what to do.
            quietly: it changes nothing that :meth:`changed` is asked for.

        ``work`` runs on the writing thread, together with others in one
        transaction, inside a savepoint: an error undoes its own changes alone and is raised by the
        future.  It must not commit, block, or call the store.

        Raises:
            StoreUnavailableError: nothing was done (also from the future: then nothing
                of the work is kept).
            StoreBusyError: too much waits.
        """

    def read(self) -> AbstractContextManager[Connection]:
        """A reading transaction: one consistent view of the committed data.

        Raises:
            StoreUnavailableError: no connection became free in time.
        """

    def append(self, blocks: Sequence[LogBlock]) -> Future[None]:
        """Append decisions to the log, in order; durable when the future is done.

        Raises:
            StoreUnavailableError: as :meth:`write`.  After a failed commit nothing is taken until
            :meth:`recover`, because decisions made in the meantime rest on decisions that were
            lost.
            StoreBusyError: too much waits.
        """

    def recover(self) -> None:
        """Try writing again after a failed commit, and take work again if that succeeds.

        Raises:
            StoreUnavailableError: it is as before.
        """

    @property
    def partition(self) -> int:
        """The number of the partition whose log this is."""

    @property
    def is_accepting(self) -> bool:
        """Whether the store accepts work: no commit has failed since the start or the last
        recovery."""

    def index_now(self) -> None:
        """Return when counts and idempotency know every decision appended before.

        Raises:
            StoreUnavailableError: the index cannot be written.
            DamagedLogError: the log cannot be read.
        """

    def learn_now(self) -> None:
        """As :meth:`index_now`, and the field catalog includes these decisions too.

        A catalog that is far behind learns from a part of them: nobody waits long.

        Raises:
            StoreUnavailableError: as :meth:`index_now`.
            DamagedLogError: as :meth:`index_now`.
        """

    def derive(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run ``work`` in a transaction on data derived from the log, in the tables that have the
        schema ``derived``; as :meth:`write` otherwise, but commits never wait for it.

        An error undoes all of it and is raised by the future.

        Raises:
            StoreUnavailableError: the store is closed.
        """

    def flush_derived(self) -> int:
        """Return when the rows derived from the decisions appended before are on stable storage.

        Returns:
            The number of the last of them: up to it the log may be deleted.

        Raises:
            StoreUnavailableError: as :meth:`index_now`.
            DamagedLogError: as :meth:`index_now`.
        """

    def changed(self) -> bool:
        """Whether any process has committed anything but decisions since the last call.

        It may answer yes when nobody did.
        """

    def statistics(self) -> StoreStatistics:
        """Figures for metrics."""

    @property
    def lost(self) -> LogGap | None:
        """The end of the log, when the opening found it lost."""

    @property
    def lost_changes(self) -> int:
        """Commits of anything but decisions that the opening found lost, at least."""

    def close(self) -> None:
        """Finish accepted work, and close.  Later work is refused."""
