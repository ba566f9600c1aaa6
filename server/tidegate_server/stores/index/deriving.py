"""The thread that derives from the log, alongside the committing thread and never in its way.

It reads committed decisions and writes the derived tables; only callers that ask it to catch up
wait for it. On SQLite it also copies the WAL into the database, so that no commit has to.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.stores.base import StoreError, StoreUnavailableError
from tidegate_server.stores.index import catalog, derived, indexing
from tidegate_server.stores.niceness import BACKGROUND, be_nice
from tidegate_server.stores.rows.counters import LOG_ID, counter
from tidegate_server.stores.rows.errors import is_corrupt, reason, translated

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.index.places import Place

PAUSE_SECONDS = 1.0
"""Counts lag by at most this much; the decisions of that time form one batch."""
LEARN_SECONDS = 10.0
"""The field catalog lags by at most this much unless steps are full. There is one full step per
pause, so learning takes a tenth of a processor and may fall behind for a while."""
LEARN_STEPS = 4
"""The most learning steps that a caller waits for: some 65,000 decisions."""
RETRY_SECONDS = 1.0
MAX_BEHIND = 100_000
"""Decisions; when further behind, the thread runs at normal priority."""


@attrs.define(eq=False)
class _Task:
    work: Callable[[], Any]
    future: Future[Any]


class Deriver:
    """Keeps a database's derived file up to date with its log.

    Args:
        place: the location of the derived tables.
        committed: returns the number of the last decision that this process knows of.
        flush: called about every second.
        bounds: limits of the field catalog.
        monotonic: seconds of a monotonic clock.
    """

    def __init__(
        self,
        place: Place,
        committed: Callable[[], int],
        flush: Callable[[], None] = lambda: None,
        bounds: catalog.Bounds = catalog.DEFAULT_BOUNDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._place = place
        self._committed = committed
        self._flush_beside = flush
        self._bounds = bounds
        self._monotonic = monotonic
        self._engine = place.engine()
        self._connection: Connection | None = None
        self._changed = threading.Condition()
        self._tasks: deque[_Task] = deque()
        self._is_closing = False
        self._log_id = 0
        self._is_yielding = False
        self._retry_at = self._learn_at = -1e9
        self.indexed_seq = self.learned_seq = 0
        self.seconds = self.learning_seconds = 0.0
        self.error: str | None = None
        with translated():
            self._open()
        self._thread = threading.Thread(target=self._run, name="tidegate-derive", daemon=True)
        self._thread.start()

    def write(self, work: Callable[[Connection], Any]) -> Future[Any]:
        """Run a function in a transaction on the derived file.

        Raises:
            StoreUnavailableError: the store is closed.
        """
        return self._queue(lambda: self._write(work))

    def catch_up(self) -> Future[int]:
        """Index everything committed by now; return the number of the last indexed decision.

        Raises:
            StoreUnavailableError: as for :meth:`write`.
        """
        until = self._committed()
        return self._queue(lambda: self._index(until))

    def learn(self) -> Future[int]:
        """Like :meth:`catch_up`, including the field catalog; only a part if it is far behind.

        Returns:
            The number of the last decision in the catalog.

        Raises:
            StoreUnavailableError: as for :meth:`write`.
        """
        until = self._committed()
        return self._queue(lambda: self._learn(until))

    def flush(self) -> Future[int]:
        """Like :meth:`catch_up`, and wait for stable storage."""
        until = self._committed()
        return self._queue(lambda: self._flush(until))

    def close(self) -> None:
        """Finish requested work and end the thread."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()
        self._engine.dispose()

    def _queue(self, work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._changed:
            if self._is_closing:
                raise StoreUnavailableError("the store is closed")
            self._tasks.append(_Task(work, future))
            self._changed.notify()
        return future

    # The functions below run on the thread, or before it starts.

    def _run(self) -> None:
        self._yield(behind=0)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or self._is_closing, PAUSE_SECONDS)
                task = self._tasks.popleft() if self._tasks else None
                if task is None and self._is_closing:
                    break
            if task is not None:
                if task.future.set_running_or_notify_cancel():
                    _settle(task)
            elif self._monotonic() >= self._retry_at:
                self._keep_up()
        self._close()

    def _keep_up(self) -> None:
        """Index new decisions until a task is queued."""
        # Newer decisions wait for the next time: under load there is always a little more, and a
        # small batch costs as much as a large one.
        until = self._committed()
        with suppress(OSError, ValueError):
            self._flush_beside()
        try:
            while self.indexed_seq < until and not self._tasks:
                self._step(until)
                self._checkpoint()
                self._yield(self._committed() - self.indexed_seq)
            self._checkpoint()
            behind = until - self.learned_seq
            if behind >= catalog.BATCH_ENTRIES or self._monotonic() >= self._learn_at:
                self._learn_step(until)
        except StoreError:
            # The reason is kept for the statistics; nothing is lost, since it is derived later.
            self._retry_at = self._monotonic() + RETRY_SECONDS

    def _index(self, until: int) -> int:
        while self.indexed_seq < until:
            self._step(until)
        return self.indexed_seq

    def _learn(self, until: int) -> int:
        self._index(until)
        for _ in range(LEARN_STEPS):
            if self.learned_seq >= until:
                break
            self._learn_step(until)
        return self.learned_seq

    def _flush(self, until: int) -> int:
        self._index(until)
        self._place.flush(self._open())
        return self.indexed_seq

    def _step(self, until: int) -> None:
        """Index a batch."""
        started = self._monotonic()
        with self._noting():
            connection = self._open()
            with connection.begin():
                batch = indexing.read_batch(connection, self.indexed_seq, until)
            if batch is not None:
                with connection.begin():
                    self.indexed_seq = indexing.index_batch(connection, batch)
        self.seconds += self._monotonic() - started

    def _learn_step(self, until: int) -> None:
        """Have the field catalog learn from a batch."""
        started = self._monotonic()
        if self.learned_seq < until:
            with self._noting():
                connection = self._open()
                with connection.begin():
                    learned = catalog.learn(connection, until, self._bounds)
                self.learned_seq = learned
        now = self._monotonic()
        self.learning_seconds += now - started
        self._learn_at = now + LEARN_SECONDS

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Keep the reason for a failure for the statistics.

        Raises:
            StoreError: the work failed.
        """
        try:
            with translated():
                yield
        except Exception as error:
            self._failed(error)
            if isinstance(error, StoreError):
                self.error = str(error)
                raise
            self.error = reason(error)
            raise StoreUnavailableError(f"the index cannot be written: {self.error}") from error
        self.error = None

    def _write(self, work: Callable[[Connection], Any]) -> Any:
        try:
            with translated():
                connection = self._open()
                with connection.begin():
                    derived.take(connection)
                    return work(connection)
        except Exception as error:
            self._failed(error)
            raise

    def _open(self) -> Connection:
        if self._connection is None:
            connection = self._engine.connect()
            try:
                with connection.begin():
                    self._log_id = counter(connection, LOG_ID)
                    self.indexed_seq = derived.indexed_seq(connection)
                    self.learned_seq = derived.learned_seq(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _failed(self, error: Exception) -> None:
        """Continue with a new connection, and with a new file if this one is damaged."""
        self._close()
        if is_corrupt(error.__cause__ or error):
            with suppress(Exception):
                self._place.mend(self._log_id)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _checkpoint(self) -> None:
        self._place.tidy(self._open)

    def _yield(self, behind: int) -> None:
        """Let other threads run first, unless this one is far behind."""
        is_yielding = behind < (MAX_BEHIND // 2 if self._is_yielding is False else MAX_BEHIND)
        if is_yielding is not self._is_yielding:
            self._is_yielding = is_yielding
            be_nice(BACKGROUND if is_yielding else 0)


def _settle(task: _Task) -> None:
    try:
        result = task.work()
    except BaseException as error:
        task.future.set_exception(error)
    else:
        task.future.set_result(result)
