"""The port: the interface of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from tidegate_server.stores.decision_log.gaps import LogGap
    from tidegate_server.stores.decision_log.lines import LogBlock

T = TypeVar("T")


@attrs.frozen
class StoreStatistics:
    """A store's figures about its writing, for metrics."""

    waiting_entries: int
    """Log entries accepted and not yet committed."""
    waiting_writes: int
    oldest_waiting_seconds: float
    """How long the oldest accepted work has waited; 0 if none waits."""
    commits: int
    committed_entries: int
    committed_writes: int
    failed_commits: int
    commit_seconds: float
    """Total time spent in commits."""
    last_commit_seconds: float
    longest_write_seconds: float
    """The longest time that one change held up commits since the start, without the flush."""
    committed_seq: int
    """Number of the last decision in the log."""
    indexed_seq: int
    """Number of the last decision known to counts and idempotency."""
    learned_seq: int
    """Number of the last decision known to the field catalog."""
    index_seconds: float
    """Total time spent indexing."""
    learning_seconds: float
    """Total time that the field catalog spent learning."""
    index_error: str | None
    """Why indexing makes no progress, or None."""


class Records(Protocol):
    """A store as handlers and their callees see it."""

    def write(self, work: Callable[[Connection], T], *, quietly: bool = False) -> Future[T]:
        """Run ``work`` in a transaction; the result arrives after the commit.

        Args:
            work: the work.
            quietly: it changes nothing that :meth:`Store.changed` reports.

        ``work`` runs on the writing thread, together with others in one transaction, inside a
        savepoint: an error undoes only its own changes and is raised by the future.  It must not
        commit, block, or call the store.

        Raises:
            StoreUnavailableError: nothing was done; if the future raises it, nothing of the work is
                kept.
            StoreBusyError: too much is waiting.
        """

    def read(self) -> AbstractContextManager[Connection]:
        """A reading transaction: one consistent view of the committed data.

        Raises:
            StoreUnavailableError: no connection became free in time.
        """

    def index_now(self) -> None:
        """Return when counts and idempotency include every decision appended before.

        Raises:
            StoreUnavailableError: the index cannot be written.
            DamagedLogError: the log cannot be read.
        """

    def learn_now(self) -> None:
        """Like :meth:`index_now`, but the field catalog includes these decisions too.

        A catalog that is far behind learns only a part of them, so no caller waits long.

        Raises:
            StoreUnavailableError: as :meth:`index_now`.
            DamagedLogError: as :meth:`index_now`.
        """


class Store(Records, Protocol):
    """Stores definitions, decisions and everything else of the service.

    Every method may be called from any thread.  A store writes on one thread, in the order of the
    calls: a write sees every earlier append and no later one.
    """

    def append(self, blocks: Sequence[LogBlock]) -> Future[None]:
        """Append decisions to the log, in order; durable when the future is done.

        Raises:
            StoreUnavailableError: as for :meth:`write`.  After a failed commit nothing is accepted
                until :meth:`recover`, because decisions made meanwhile depend on lost ones.
            StoreBusyError: too much is waiting.
        """

    def recover(self) -> None:
        """Try writing again after a failed commit, and accept work again if that succeeds.

        Raises:
            StoreUnavailableError: writing still fails.
        """

    @property
    def partition(self) -> int:
        """The number of the partition whose log this is."""

    @property
    def is_accepting(self) -> bool:
        """Whether the store accepts work: no commit has failed since the start or the last
        recovery."""

    def derive(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run ``work`` in a transaction on derived data, in the tables with the schema ``derived``.

        Otherwise like :meth:`write`, but commits never wait for it.

        An error undoes all of it and is raised by the future.

        Raises:
            StoreUnavailableError: the store is closed.
        """

    def flush_derived(self) -> int:
        """Return when the rows derived from earlier decisions are on stable storage.

        Returns:
            The number of the last of them: the log may be deleted up to it.

        Raises:
            StoreUnavailableError: as for :meth:`index_now`.
            DamagedLogError: as for :meth:`index_now`.
        """

    def changed(self) -> bool:
        """Whether any process has committed anything but decisions since the last call.

        It may say yes when none has.
        """

    def statistics(self) -> StoreStatistics:
        """Figures for metrics."""

    @property
    def lost(self) -> LogGap | None:
        """The end of the log, if it was found lost when opening."""

    @property
    def lost_changes(self) -> int:
        """Commits of anything but decisions found lost when opening; a lower bound."""

    def close(self) -> None:
        """Finish accepted work and close.  Later work is rejected."""
