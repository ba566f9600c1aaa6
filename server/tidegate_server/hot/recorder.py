"""Record decisions in the log: decisions wait here for the commit that contains them.

One batch is committed at a time; decisions made meanwhile form the next batch. Each commit wakes
the loop once, however many answers it releases. A commit costs as much CPU time as ten decisions or
more. So when many share one, the next starts a moment later, and more share it.

When a commit fails, the waiting decisions are refused and no further ones are made, since the
engines' states contain decisions that the log doesn't. The recorder then tries to write about once
a second, has the states rebuilt from the log, and continues.

With relaxed durability the waiting decisions are answered anyway, and so are all others until the
log can be written again. The states are kept, as nothing else remains of those decisions. The first
entry written then says how many there were.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from tidegate_server.hot.gap import Gap
from tidegate_server.http.problems import Problem
from tidegate_server.logging import log
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.decision_log.lines import MAX_ROW_ENTRIES

if TYPE_CHECKING:
    from concurrent.futures import Future
    from uuid import UUID

    from tidegate_server.stores.decision_log.lines import LogBlock
    from tidegate_server.stores.port import Store

T = TypeVar("T")

Settled: TypeAlias = "Callable[[Problem | None], None]"
"""Called when the decisions of a block are durable, or with the reason why they are not."""

RETRY_SECONDS = 1.0
MANY = 16
"""With this many decisions in a commit, the next commit may wait to gather more."""
GATHER_SECONDS = 0.002
"""How long it gathers: less than it takes to make and answer that many."""
IN_A_COMMIT = MAX_ROW_ENTRIES
"""How many decisions of one tenant go into one commit."""
SLOW_SECONDS = 1.0
"""A slower commit is reported in the service's log: it delays everybody's answers."""
MAX_WAITING = 20_000
"""How many decisions may wait for a commit: more than a second's worth would be answered late."""


class Cut(Generic[T]):
    """A read of the states between two commits."""

    def __init__(self, take: Callable[[int], T]) -> None:
        self._take = take
        self.taken: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when every decision before the cut is durable."""

    def make(self, seq: int) -> None:
        """Take the read; decisions up to this number are made."""
        try:
            self.taken.set_result(self._take(seq))
        except Exception as error:
            self.taken.set_exception(error)


class Recorder:
    """Writes to a store's decision log; call its methods only on the event loop's thread.

    Args:
        store: where the log is.
        seq: number of the last decision in the log.
        rebuild: rebuilds the engines' states from the log after a failure.
        record_gaps: with relaxed durability, writes how many decisions were answered but not
            recorded, by tenant; None refuses decisions that can't be recorded.
        note: called with the committed decisions and the number of the last one.
    """

    def __init__(
        self,
        store: Store,
        seq: int,
        rebuild: Callable[[], Awaitable[None]],
        record_gaps: Callable[[Mapping[UUID, Gap]], Future[None]] | None = None,
        note: Callable[[Sequence[LogBlock], int], None] = lambda _, __: None,
    ) -> None:
        self._note = note
        self._store = store
        self._rebuild = rebuild
        self._record_gaps = record_gaps
        self._committed = seq
        self._blocks: list[LogBlock] = []
        self._unsent = 0
        """Decisions in those blocks."""
        self._unsent_of: dict[UUID, int] = {}
        """The same for each tenant."""
        self._waiting: list[Settled] = []
        self._cuts: list[Cut[Any]] = []
        self._under_way = 0
        self._sent_at = 0.0
        """When they were sent, by the loop's clock."""
        self._committing: list[Settled] = []
        self._cuts_under_way: list[Cut[Any]] = []
        self._is_scheduled = False
        self._gaps: dict[UUID, Gap] = {}
        self.unrecorded = 0
        """Decisions answered but missing from the log, since the start."""
        self._recovery: asyncio.Task[None] | None = None
        self._rebuilds = 0
        """How often states were rebuilt, or will be."""
        self._loop = asyncio.get_running_loop()
        self.sent: Callable[[], None] = _nobody
        """Called when the waiting decisions are on their way to the store, or are given up."""

    @property
    def seq(self) -> int:
        """The number of the last decision made, which it has, or will have once committed."""
        return self._committed + self._under_way + self._unsent

    @property
    def store(self) -> Store:
        """The store of the log."""
        return self._store

    @property
    def committed(self) -> int:
        """The number of the last durable decision."""
        return self._committed

    @property
    def waiting(self) -> int:
        """Decisions that are made but not yet durable."""
        return self._under_way + self._unsent

    @property
    def is_available(self) -> bool:
        """Whether decisions can be recorded, as far as is known."""
        return self._recovery is None

    @property
    def is_deciding(self) -> bool:
        """Whether decisions are made: with relaxed durability, even when they can't be recorded."""
        return self.is_available or self._record_gaps is not None

    def room(self, tenant_id: UUID) -> int:
        """Return how many decisions of a tenant may be made before the next commit starts.

        Everybody's next decision waits for the commit, so it has to be short.
        """
        return max(0, IN_A_COMMIT - self._unsent_of.get(tenant_id, 0))

    def check(self, tenant_id: UUID) -> int:
        """Refuse a decision that couldn't be recorded, before it is made.

        A tenant may have as many decisions waiting as there are free places, so the tenant with the
        most is refused first.

        Returns:
            The argument for :meth:`check_still` after the decision.

        Raises:
            Problem: ``decision-log-unavailable`` or ``overloaded``.
        """
        if not self.is_deciding:
            raise unavailable()
        if self._unsent_of.get(tenant_id, 0) >= MAX_WAITING - self._unsent:
            raise Problem("overloaded", headers={"retry-after": "1"})
        return self._rebuilds

    def check_still(self, checked: int) -> None:
        """Refuse decisions made from a state that was given up meanwhile.

        Raises:
            Problem: ``decision-log-unavailable``; they count as not made.
        """
        if checked != self._rebuilds:
            raise unavailable()

    def submit(self, block: LogBlock, settled: Settled) -> None:
        """Take a block; call ``settled`` once, when it is durable or with the reason why it isn't.

        With relaxed durability, a block that can't be written is counted, and settled at once.
        """
        if self._recovery is not None and self._record_gaps is not None:
            self._count([block])
            settled(None)
            return
        self._blocks.append(block)
        self._unsent += block.count
        present = self._unsent_of.get(block.tenant_id, 0)
        self._unsent_of[block.tenant_id] = present + block.count
        self._waiting.append(settled)
        if not self._is_scheduled and not self._under_way:
            self._is_scheduled = True
            self._loop.call_soon(self._submit)

    def append(self, block: LogBlock) -> asyncio.Future[None]:
        """Take a block; the returned future is done when the block is durable, or counted.

        It fails with a :class:`Problem` when the block couldn't be written and counts as not
        decided.
        """
        done = self._loop.create_future()

        def settled(problem: Problem | None) -> None:
            if done.done():
                return
            if problem is None:
                done.set_result(None)
            else:
                done.set_exception(problem)

        self.submit(block, settled)
        return done

    async def cut(
        self,
        take: Callable[[int], T],
        still: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> T:
        """Read the states between two commits, and return the result when it is durable.

        Decisions in one commit are ordered by tenant. So the number of the last decision splits
        each tenant's decisions into before and after only between commits.

        Args:
            take: called with that number once every decision made so far is on its way to the
                store; no decision is made meanwhile.
            still: held until the read is taken, so that no decision is made off the loop.

        Raises:
            Problem: the decisions in it couldn't be written.
        """
        async with still():
            if self._recovery is not None:
                raise unavailable()
            made = Cut(take)
            if self._blocks:
                self._cuts.append(made)
            else:
                self._cut(made)
            await asyncio.wait((made.taken, made.durable), return_when=asyncio.FIRST_COMPLETED)
        await made.durable
        return made.taken.result()

    def probe(self) -> None:
        """Try to write again after a change, not a decision, found the store unavailable."""
        if self._recovery is None and not self._store.is_accepting:
            self._begin_recovery()

    async def drain(self) -> None:
        """Return when no decision waits."""
        while self.waiting:
            await asyncio.sleep(0.001)

    async def close(self) -> None:
        """Stop trying to recover."""
        for tenant_id, gap in self._gaps.items():
            log.error("decisions are not recorded", tenant=str(tenant_id), decisions=gap.decisions)
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.gather(self._recovery, return_exceptions=True)

    def _submit(self) -> None:
        self._is_scheduled = False
        if self._under_way or not self._blocks:
            return
        blocks, self._blocks = self._blocks, []
        self._committing, self._waiting = self._waiting, []
        self._under_way, self._unsent = self._unsent, 0
        self._unsent_of = {}
        loop = self._loop
        self._sent_at = loop.time()
        try:
            written = self._store.append(blocks)
        except StoreUnavailableError as error:
            self._failed(blocks, error)
            return

        def committed(written: Future[None]) -> None:
            loop.call_soon_threadsafe(self._finished, blocks, written)

        written.add_done_callback(committed)
        cuts, self._cuts = self._cuts, []
        for made in cuts:
            self._cut(made)
        self.sent()

    def _cut(self, made: Cut[Any]) -> None:
        made.make(self.seq)
        if self._under_way:
            self._cuts_under_way.append(made)
        else:
            made.durable.set_result(None)

    def _finished(self, blocks: Sequence[LogBlock], written: Future[None]) -> None:
        error = written.exception()
        if error is not None:
            self._failed(blocks, error)
            return
        took = self._loop.time() - self._sent_at
        if took > SLOW_SECONDS:
            log.warning("a commit took long", seconds=round(took, 3), decisions=self._under_way)
        self._committed += self._under_way
        self._note(blocks, self._committed)
        was_shared = self._under_way >= MANY
        self._under_way = 0
        settled, cuts = self._committing, self._cuts_under_way
        self._committing, self._cuts_under_way = [], []
        if was_shared:
            self._is_scheduled = True
            self._loop.call_later(GATHER_SECONDS, self._submit)
        else:
            # The next commit starts before the answers of this one are sent.
            self._submit()
        for made in cuts:
            if not made.durable.done():
                made.durable.set_result(None)
        settle(settled, None)

    def _failed(self, blocks: Sequence[LogBlock], error: BaseException) -> None:
        """Report these blocks as lost, and later decisions too, since those depend on them."""
        log.error("the decision log cannot be written", error=str(error))
        lost = [*blocks, *self._blocks]
        waiting = self._committing + self._waiting
        cuts = [made.durable for made in self._cuts_under_way + self._cuts]
        self._under_way = self._unsent = 0
        self._unsent_of = {}
        self._blocks, self._waiting, self._committing = [], [], []
        self._cuts, self._cuts_under_way = [], []
        if self._recovery is None:
            self._begin_recovery()
        for durable in cuts:
            if not durable.done():
                durable.set_exception(unavailable())
        if self._record_gaps is None:
            settle(waiting, unavailable())
        else:
            self._count(lost)
            settle(waiting, None)
        self.sent()

    def _count(self, lost: Iterable[LogBlock]) -> None:
        for block in lost:
            at = block.received_at_ns
            self.unrecorded += block.count
            self._add_gap(block.tenant_id, Gap(block.count, at, at))

    def _add_gap(self, tenant_id: UUID, gap: Gap) -> None:
        present = self._gaps.get(tenant_id)
        self._gaps[tenant_id] = gap if present is None else present + gap

    def _begin_recovery(self) -> None:
        if self._record_gaps is None:
            self._rebuilds += 1
        self._recovery = asyncio.get_running_loop().create_task(self._recover())

    async def _recover(self) -> None:
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                await asyncio.to_thread(self._store.recover)
                self._committed = self._store.statistics().committed_seq
                if self._record_gaps is None:
                    await self._rebuild()
                else:
                    self._close_gaps(self._record_gaps)
            except StoreUnavailableError:
                continue
            except Exception:
                log.exception("the states could not be rebuilt from the log")
                continue
            # No await since the gaps were handed in, so the next decision is written after them.
            log.info("the decision log can be written again")
            self._recovery = None
            return

    def _close_gaps(self, record_gaps: Callable[[Mapping[UUID, Gap]], Future[None]]) -> None:
        if not self._gaps:
            return
        gaps = self._gaps
        written = record_gaps(gaps)
        self._gaps = {}
        loop = asyncio.get_running_loop()
        written.add_done_callback(
            lambda written: loop.call_soon_threadsafe(self._gaps_written, gaps, written)
        )

    def _gaps_written(self, gaps: Mapping[UUID, Gap], written: Future[None]) -> None:
        error = written.exception()
        if error is None:
            return
        log.error("a gap of the decision log could not be recorded", error=str(error))
        for tenant_id, gap in gaps.items():
            self._add_gap(tenant_id, gap)
        if self._recovery is None:
            self._begin_recovery()


def settle(waiting: Iterable[Settled], problem: Problem | None) -> None:
    """Notify all waiting callers; an error in one callback must not affect the others."""
    for settled in waiting:
        try:
            settled(problem)
        except Exception:
            log.exception("an answer could not be given")


def _nobody() -> None:
    """A callback for a caller that waits for nothing."""


def unavailable() -> Problem:
    """Return the refusal while the log can't be written."""
    return Problem("decision-log-unavailable", headers={"retry-after": "1"})
