"""Follow the decision log and export it; the store keeps its position.

The log is the outbox. Decisions never wait for a destination. Nor does retention: entries it
deletes before they were sent are counted as lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tidegate_server.logging import log
from tidegate_server.publishing.base import NotTakenError
from tidegate_server.publishing.messages import message_of
from tidegate_server.stores.base import StoreError
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.rows.counters import (
    PUBLISHED_SEQ,
    PUBLISHING_SEQ,
    find_counter,
    put_counter,
)

if TYPE_CHECKING:
    from tidegate_server.publishing.base import Destination
    from tidegate_server.publishing.messages import Message
    from tidegate_server.stores.port import Store

BATCH = 200
"""The most messages sent together."""
IDLE_SECONDS = 0.1
"""How long a new decision waits for the next poll."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds until a failed batch is sent again; each failure doubles them."""


class Publisher:
    """Sends entries that are committed from the first start on.

    Args:
        store: has the log, and keeps the position.
        destination: takes the messages.
        committed: returns the number of the last durable entry.
    """

    def __init__(
        self, store: Store, destination: Destination, committed: Callable[[], int]
    ) -> None:
        self._store = store
        self._destination = destination
        self._committed = committed
        self._position: int | None = None
        self._until = 0
        """The end of the batch that a previous process was sending."""
        self._batch: tuple[list[Message], int] | None = None
        """The messages being sent, and the number of the last entry."""
        self.sent = 0
        """Messages that the destination took."""
        self.lost = 0
        """Entries that were deleted or damaged before they were sent."""
        self.failures = 0
        """Batches that the destination did not take."""

    @property
    def waiting(self) -> int:
        """Entries that are committed but not sent."""
        return 0 if self._position is None else max(0, self._committed() - self._position)

    @property
    def position(self) -> int | None:
        """Number of the last entry that was sent; None before the start."""
        return self._position

    async def run(self) -> None:
        """Send for as long as the service runs."""
        pause = FIRST_PAUSE
        try:
            while True:
                try:
                    await self._step()
                    pause = FIRST_PAUSE
                except (NotTakenError, StoreError) as error:
                    self.failures += 1
                    log.warning(
                        "decisions are not published; it is tried again",
                        reason=str(error),
                        waiting=self.waiting,
                        seconds=pause,
                    )
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
                except Exception:
                    log.exception("publishing failed; it is tried again")
                    await asyncio.sleep(LONGEST_PAUSE)
        finally:
            await self._destination.close()

    async def _step(self) -> None:
        """Send one batch, or wait a moment if there isn't one."""
        if self._position is None:
            self._position = await asyncio.to_thread(self._begin)
        position, end = self._position, self._committed()
        if end <= position:
            await asyncio.sleep(IDLE_SECONDS)
            return
        if self._batch is None:
            self._batch = await self._next(position, end)
        messages, reached = self._batch
        if messages:
            await self._destination.send(messages)
        await self._note(PUBLISHED_SEQ, reached)
        self._batch = None
        self.sent += len(messages)
        lost = reached - position - len(messages)
        if lost:
            self.lost += lost
            log.error("decisions were deleted or damaged before they were published", lost=lost)
        self._position = reached

    async def _next(self, position: int, end: int) -> tuple[list[Message], int]:
        """Return the next batch, which stays the same until it is taken, even after a restart."""
        is_known = position < self._until <= end
        messages = await asyncio.to_thread(self._read, position, self._until if is_known else end)
        if is_known:
            return messages, self._until
        # A batch that isn't full reached the end.
        reached = messages[-1].seq if len(messages) == BATCH else end
        if messages:
            await self._note(PUBLISHING_SEQ, reached)
        return messages, reached

    async def _note(self, name: str, seq: int) -> None:
        await asyncio.wrap_future(
            self._store.write(lambda c: put_counter(c, name, seq), quietly=True)
        )

    def _read(self, position: int, end: int) -> list[Message]:
        with self._store.read() as connection:
            lines = decision_log.scan(connection, after=position, until=end, passed=lambda _: None)
            return [message_of(line) for line in islice(lines, BATCH)]

    def _begin(self) -> int:
        """Return where the last process stopped; the first one starts at the end of the log."""
        with self._store.read() as connection:
            position = find_counter(connection, PUBLISHED_SEQ)
            self._until = find_counter(connection, PUBLISHING_SEQ) or 0
        if position is not None:
            return position
        newest = self._committed()
        self._store.write(lambda c: put_counter(c, PUBLISHED_SEQ, newest), quietly=True).result()
        return newest


def published(publisher: Publisher | None) -> list[Metric]:
    """Return a publisher's figures; all are 0 if nothing is exported."""
    waiting, sent, failures, lost = (
        (publisher.waiting, publisher.sent, publisher.failures, publisher.lost)
        if publisher
        else (0, 0, 0, 0)
    )
    return [
        GaugeMetricFamily(
            "tidegate_publish_waiting", "Decisions in the log that are not published yet.", waiting
        ),
        CounterMetricFamily("tidegate_published", "Decisions that were published.", sent),
        CounterMetricFamily(
            "tidegate_publish_failures", "Batches that the destination did not take.", failures
        ),
        CounterMetricFamily(
            "tidegate_publish_lost",
            "Decisions that were deleted or damaged before they were published.",
            lost,
        ),
    ]
