"""A store over the database in memory, with the errors of the one over PostgreSQL.

Whatever it is asked arrives late, twice or never. An append whose connection ended has an unknown
outcome, which ends the ownership, as does one that another epoch has fenced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from tests.simulation.world.partition_log import MemoryLog, Row, Writer
from tests.simulation.world.wires import DATABASE, ProcessWire

from tidegate_server.stores.base import (
    FencedError,
    StoreUnavailableError,
    UnknownOutcomeError,
)
from tidegate_server.stores.committing import rows
from tidegate_server.stores.decision_log.partition_log import log_row

if TYPE_CHECKING:
    from uuid import UUID

    from tests.simulation.world.members import Claim
    from tests.simulation.world.process import Process

    from tidegate_server.stores.decision_log.lines import LogBlock

LAST_SECONDS = 3.0
"""After it, a connection that hears nothing has ended, as by ``tcp_user_timeout``."""


@attrs.frozen
class Statistics:
    """The figures that an owner asks for."""

    committed_seq: int
    indexed_seq: int


class Store:
    """The store of one partition in one process.

    Args:
        process: whose.
        partition: whose log it is.
        ended: called when this process is no longer the owner.
    """

    def __init__(
        self, process: Process, partition: int, ended: Callable[[StoreUnavailableError], None]
    ) -> None:
        self.partition = partition
        self.process = process
        self.table = process.world.database.tables[partition]
        self.log = MemoryLog(partition)
        self._writer = Writer(self.table)
        self._tell_ended = ended
        self._end: StoreUnavailableError | None = None
        self._refusal: str | None = None
        self._committed_seq = 0
        self.indexed_seq = 0
        """The number of the last decision that lookups of idempotency keys find."""
        self._is_closed = False

    # --- as the product uses it ---------------------------------------------------------------

    def claim(self, claim: Claim) -> int:
        """Claim the log; return the number of its last decision."""
        world = self.process.world

        def claimed() -> int:
            return self.log.claim(self._writer, self.process.name, claim.term)

        self._committed_seq = self.ask(claimed)
        world.note(f"{self.process.name} claims {self.partition} in epoch {self.log.epoch}")
        return self._committed_seq

    def append(self, blocks: Sequence[LogBlock]) -> Future[None]:
        """Append decisions to the log."""
        if self._is_closed:
            raise StoreUnavailableError("the store is closed")
        if self._refusal is not None:
            raise StoreUnavailableError(self._refusal)
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()
        process, world = self.process, self.process.world
        after, made = self._committed_seq, self._rows(blocks)
        if world.is_lost(process.name, DATABASE):
            self._cut(future)
            if world.random.random() < world.weather.silence:
                world.at(world.random.random() * 4.0, self._take, after, made)
            return future
        delay = world.delay()
        world.at(delay, self._arrive, process.run, future, after, made)
        return future

    def recover(self) -> None:
        """Accept work again, if this process is still the owner."""
        if self._end is not None:
            raise self._end

        def reopened() -> int:
            self.log.check(self._writer)
            return self.table.end

        self._committed_seq = self.ask(reopened)
        self._refusal = None

    @property
    def is_accepting(self) -> bool:
        """Whether no append has failed since work was last accepted."""
        return self._refusal is None

    def statistics(self) -> Statistics:
        """Figures."""
        return Statistics(self._committed_seq, self.indexed_seq)

    def index_now(self) -> None:
        """Have lookups find every decision until now."""
        self.indexed_seq = self.ask(lambda: self.table.end)

    def close(self) -> None:
        """Reject later work."""
        self._is_closed = True

    # --- as the simulated service uses it -----------------------------------------------------

    def ask(self, do: Callable[[], Any]) -> Any:
        """Have something done at the database, over a connection of the pool."""
        return ProcessWire(self.process).ask(do)

    def lines(self, after: int, until: int | None = None) -> Sequence[bytes]:
        """Read decisions after a number."""
        found: Sequence[bytes] = self.ask(lambda: self.table.lines[after:until])
        return found

    # --- the way of an append -----------------------------------------------------------------

    def _rows(self, blocks: Sequence[LogBlock]) -> Sequence[Row]:
        by_tenant: dict[UUID, list[LogBlock]] = {}
        for block in blocks:
            by_tenant.setdefault(block.tenant_id, []).append(block)
        seq, made = self._committed_seq, []
        for of_tenant in by_tenant.values():
            for part in rows(of_tenant):
                made.append(log_row(seq + 1, part, 0))
                seq += sum(block.count for block in part)
        return made

    def _arrive(self, run: int, future: Future[None], after: int, made: Sequence[Row]) -> None:
        process, world = self.process, self.process.world
        error = self._take(after, made)
        if error is None and world.weather.twice and world.random.random() < world.weather.twice:
            world.at(world.random.random() * 0.2, self._take, after, made)
        if process.run != run or not process.is_alive:
            return
        if world.is_lost(process.name, DATABASE):
            self._cut(future)
            return
        world.at(world.delay(), process.on_thread, run, partial(self._finish, future, made, error))

    def _take(self, after: int, made: Sequence[Row]) -> StoreUnavailableError | None:
        """An append is at the database: it is taken, or not, at this moment."""
        world, error = self.process.world, None
        try:
            if world.is_full:
                raise StoreUnavailableError("no space left on device")
            self.log.append(self._writer, after, made)
            world.oracle.appended(self.partition)
        except StoreUnavailableError as refused:
            error = refused
        if world.trace is not None:
            done = "done" if error is None else type(error).__name__
            world.note(f"log {self.partition}: {self.process.name} appends after {after}: {done}")
        return error

    def _cut(self, future: Future[None]) -> None:
        """The connection ends during an append."""
        world, process = self.process.world, self.process
        is_silent = world.random.random() < world.weather.silence
        after = LAST_SECONDS if is_silent else world.random.random()
        error = UnknownOutcomeError("the connection ended during a commit")
        world.at(after, process.on_thread, process.run, partial(self._finish, future, (), error))

    def _finish(
        self, future: Future[None], made: Sequence[Row], error: StoreUnavailableError | None
    ) -> None:
        if error is None:
            self._committed_seq = made[-1][0] + made[-1][2] - 1
            future.set_result(None)
            return
        if isinstance(error, FencedError | UnknownOutcomeError) and self._end is None:
            self._end = error
            self._tell_ended(error)
        self._refusal = f"the last commit failed: {error}"
        future.set_exception(error)
