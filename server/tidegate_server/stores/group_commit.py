"""Group commit: one thread takes all waiting work and commits it together.

A commit costs one flush to disk, however much it holds, so work that arrives during one commit
shares the next.  This module knows queues and futures; the store defines a commit.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from tidegate_server.stores.base import StoreBusyError, StoreUnavailableError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.decision_log.lines import LogBlock

MAX_WAITING_ENTRIES = 20_000
"""Beyond this a store is about a second behind: rejecting now is kinder than answering late."""
MAX_WAITING_BYTES = 128 * 1024 * 1024
MAX_WAITING_WRITES = 1_000
MAX_GROUP_ENTRIES = 4_000
"""Entries in one commit: enough to make the flush cheap, few enough to finish soon."""
MAX_GROUP_WRITES = 8
"""Changes in one commit. At most one is quiet, since quiet ones may be steps of a large change."""


@attrs.define(eq=False)
class Append:
    """Blocks of log entries, committed together or not at all."""

    blocks: Sequence[LogBlock]
    future: Future[None]
    submitted: float
    entries: int
    size: int
    """Bytes of the lines."""


@attrs.define(eq=False)
class Write:
    """A function that changes the database."""

    work: Callable[[Connection], Any]
    future: Future[Any]
    submitted: float
    is_quiet: bool
    outcome: Callable[[], Any] | None = None
    """The result for the future after the commit, set by the committer."""


@attrs.define(eq=False)
class Command:
    """A command that the thread runs between commits, even when commits fail."""

    run: Callable[[], None]
    future: Future[None]


Work: TypeAlias = Append | Write


class GroupCommit:
    """The queue in front of a store, and the thread behind it.

    Args:
        commit: does a group of work in one transaction and sets the outcome of each write; raises
            StoreUnavailableError if nothing of it was kept.
        finish: the last thing called on the thread.
        monotonic: seconds of a monotonic clock.
    """

    def __init__(
        self,
        commit: Callable[[list[Work]], None],
        finish: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._commit = commit
        self._finish = finish
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._waiting: deque[Work | Command] = deque()
        self._refusal: str | None = None
        self._is_closing = False
        self.waiting_entries = 0
        self.waiting_bytes = 0
        self.waiting_writes = 0
        self.commits = 0
        self.committed_entries = 0
        self.committed_writes = 0
        self.failed_commits = 0
        self.commit_seconds = 0.0
        self.last_commit_seconds = 0.0
        self._thread = threading.Thread(target=self._run, name="tidegate-store", daemon=True)
        self._thread.start()

    def append(self, blocks: Sequence[LogBlock]) -> Future[None]:
        """Queue log entries.

        Raises:
            StoreUnavailableError: a commit failed, or the store is closed.
            StoreBusyError: too much is waiting.
        """
        size = sum(len(block.lines) for block in blocks)
        entries = sum(block.count for block in blocks)
        future: Future[None] = Future()
        # A decision that was made must be recorded, so its append can no longer be cancelled.
        future.set_running_or_notify_cancel()
        with self._changed:
            self._check()
            is_full = self.waiting_entries + entries > MAX_WAITING_ENTRIES
            if self.waiting_entries and (is_full or self.waiting_bytes + size > MAX_WAITING_BYTES):
                raise StoreBusyError(
                    f"{self.waiting_entries} decisions wait to be written; try again"
                )
            self._waiting.append(Append(blocks, future, self._monotonic(), entries, size))
            self.waiting_entries += entries
            self.waiting_bytes += size
            self._changed.notify()
        return future

    def write(self, work: Callable[[Connection], Any], *, is_quiet: bool = False) -> Future[Any]:
        """Queue a function, like :meth:`append`."""
        future: Future[Any] = Future()
        with self._changed:
            self._check()
            if self.waiting_writes >= MAX_WAITING_WRITES:
                raise StoreBusyError(f"{self.waiting_writes} changes wait to be written; try again")
            self._waiting.append(Write(work, future, self._monotonic(), is_quiet))
            self.waiting_writes += 1
            self._changed.notify()
        return future

    def command(self, run: Callable[[], None]) -> Future[None]:
        """Queue a command; it runs after everything queued before it.

        Raises:
            StoreUnavailableError: the store is closed.
        """
        future: Future[None] = Future()
        with self._changed:
            if self._is_closing:
                raise StoreUnavailableError("the store is closed")
            self._waiting.append(Command(run, future))
            self._changed.notify()
        return future

    def accept(self) -> None:
        """Accept work again after a failed commit."""
        with self._changed:
            self._refusal = None

    @property
    def is_accepting(self) -> bool:
        """Whether no commit has failed since work was last accepted."""
        return self._refusal is None

    def close(self) -> None:
        """Reject new work, finish accepted work, and end the thread."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()

    def oldest_seconds(self) -> float:
        """How long the oldest work has waited."""
        with self._changed:
            works = (work for work in self._waiting if not isinstance(work, Command))
            oldest = next(works, None)
        return 0.0 if oldest is None else max(0.0, self._monotonic() - oldest.submitted)

    def _check(self) -> None:
        if self._is_closing:
            raise StoreUnavailableError("the store is closed")
        if self._refusal is not None:
            raise StoreUnavailableError(self._refusal)

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            if isinstance(taken, Command):
                _settle(taken.future, taken.run)
            elif taken:
                self._commit_group(taken)
        self._finish()

    def _take(self) -> list[Work] | Command | None:
        """The next work: a group, a command, or the end."""
        with self._changed:
            while not self._waiting:
                if self._is_closing:
                    return None
                self._changed.wait()
            if isinstance(self._waiting[0], Command):
                command = self._waiting.popleft()
                assert isinstance(command, Command)
                return command
            return self._take_group()

    def _take_group(self) -> list[Work]:
        group: list[Work] = []
        entries = writes = 0
        is_quiet = False
        while self._waiting and entries < MAX_GROUP_ENTRIES:
            work = self._waiting[0]
            if isinstance(work, Command):
                break
            if isinstance(work, Write):
                # Decisions that arrive meanwhile are committed with the next group.
                if writes >= MAX_GROUP_WRITES or (work.is_quiet and is_quiet):
                    break
                writes += 1
                is_quiet |= work.is_quiet
            self._waiting.popleft()
            if isinstance(work, Append):
                entries += work.entries
                self.waiting_entries -= work.entries
                self.waiting_bytes -= work.size
                group.append(work)
            else:
                self.waiting_writes -= 1
                if work.future.set_running_or_notify_cancel():
                    group.append(work)
        return group

    def _commit_group(self, group: list[Work]) -> None:
        started = self._monotonic()
        try:
            self._commit(group)
        except Exception as error:
            self.failed_commits += 1
            self._fail(group, error)
            return
        self.last_commit_seconds = self._monotonic() - started
        self.commit_seconds += self.last_commit_seconds
        self.commits += 1
        for work in group:
            if isinstance(work, Append):
                self.committed_entries += work.entries
                work.future.set_result(None)
            else:
                self.committed_writes += 1
                assert work.outcome is not None
                _settle(work.future, work.outcome)

    def _fail(self, group: list[Work], error: Exception) -> None:
        """Fail the group: nothing of it was stored, and the work behind it depends on lost
        decisions."""
        reason = f"the last commit failed: {error}"
        with self._changed:
            self._refusal = reason
            lost = group + [work for work in self._waiting if not isinstance(work, Command)]
            self._waiting = deque(work for work in self._waiting if isinstance(work, Command))
            self.waiting_entries = self.waiting_bytes = self.waiting_writes = 0
        for work in lost:
            if work.future.running() or work.future.set_running_or_notify_cancel():
                # Work that waited behind a commit with an unknown outcome depends on it.
                kind = type(error) if isinstance(error, StoreUnavailableError) else None
                failure = (kind or StoreUnavailableError)(reason)
                failure.__cause__ = error
                work.future.set_exception(failure)


def _settle(future: Future[Any], outcome: Callable[[], Any]) -> None:
    """Set a future to a function's result or error."""
    if not future.running() and not future.set_running_or_notify_cancel():
        return
    try:
        result = outcome()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
