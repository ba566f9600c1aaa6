"""The port: what a store does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from tidegate.stores.decision_log.gaps import LogGap
    from tidegate.stores.decision_log.lines import LogBlock

T = TypeVar("T")


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


class Records(Protocol):
    """A store, as far as handlers and what they call go."""

    def write(self, work: Callable[[Connection], T], *, quietly: bool = False) -> Future[T]:
        """Run ``work`` in a transaction; the result comes after the commit.

        Args:
            work: what to do.
            quietly: it changes nothing that :meth:`Store.changed` is asked for.

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


class Store(Records, Protocol):
    """Keeps definitions, decisions and everything else of the service.

    Every method may be called from any thread.  A store writes on one thread, in
    the order it was asked: a write sees every append before it and none after.
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
