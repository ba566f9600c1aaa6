"""Background delivery of events: batched, retried, and each accounted for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
from attrs import validators

from tidegate.client.errors import (
    ClientClosedError,
    ClientError,
    PayloadTooLargeError,
    QueueFullError,
    TimedOutError,
)
from tidegate.client.results import BeaconResponse, DeliveryCounts, FailedEvent, read_items
from tidegate.client.retries import BATCHES, Backoff, retry_after

if TYPE_CHECKING:
    from tidegate.client.answer import Answer
    from tidegate.client.events import EncodedEvent
    from tidegate.client.world import World

log = logging.getLogger("tidegate.client")

PATH = "/api/v1/beacon/events"
NDJSON = "application/x-ndjson"

Post: TypeAlias = Callable[[str, bytes, str], Awaitable["Answer"]]
OnError: TypeAlias = Callable[[FailedEvent], object]
OnDelivered: TypeAlias = Callable[["EncodedEvent", BeaconResponse], object]


@attrs.frozen(kw_only=True)
class Batching:
    """The settings for collecting and sending events.

    Args:
        max_events: most events in a batch; the service accepts 1,000.
        max_bytes: most bytes in a batch; the service accepts 4 MiB.
        max_age: seconds an event waits for others before its batch is sent.
        queue_events: most events in the queue, including the batch in flight.
        queue_bytes: most bytes in the queue, counted the same way.
        when_full: ``drop`` passes a new event to ``on_error`` and counts it; ``block`` makes
            ``send`` wait for room.
        timeout: seconds for one attempt at one batch.
        backoff: waits between attempts; they start over whenever some of a batch gets through.
    """

    max_events: int = attrs.field(
        default=1_000, validator=validators.and_(validators.ge(1), validators.le(1_000))
    )
    max_bytes: int = attrs.field(
        default=4 * 1024 * 1024,
        validator=validators.and_(validators.ge(1), validators.le(4 * 1024 * 1024)),
    )
    max_age: float = attrs.field(default=1.0, validator=validators.ge(0))
    queue_events: int = attrs.field(default=10_000, validator=validators.ge(1))
    queue_bytes: int = attrs.field(default=32 * 1024 * 1024, validator=validators.ge(64 * 1024))
    when_full: Literal["drop", "block"] = attrs.field(
        default="drop", validator=validators.in_(("drop", "block"))
    )
    timeout: float = attrs.field(default=30.0, validator=validators.gt(0))
    backoff: Backoff = BATCHES


GATHERED = Batching()
"""The default batching of a client."""


@attrs.define(eq=False)
class _Waiting:
    event: EncodedEvent
    since: float
    attempts: int = 0

    @property
    def size(self) -> int:
        return len(self.event.body) + 1


class Batcher:
    """A queue and the task that empties it, one batch at a time and in order.

    ``offer`` and ``counts`` are thread-safe; everything else runs on the loop that ``start`` was
    called on.
    """

    def __init__(
        self,
        post: Post,
        batching: Batching,
        world: World,
        on_error: OnError | None,
        on_delivered: OnDelivered | None,
    ) -> None:
        self._post = post
        self._batching = batching
        self._world = world
        self._on_error = on_error
        self._on_delivered = on_delivered
        self._max_bytes = batching.max_bytes
        self._lock = threading.Lock()
        self._queue: deque[_Waiting] = deque()
        self._under_way: dict[_Waiting, None] = {}
        self._queued_bytes = 0
        self._waiting_bytes = 0
        self._accepted = self._delivered = self._failed = self._dropped = 0
        self._flush_to = 0
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._settled = asyncio.Condition()

    @property
    def is_started(self) -> bool:
        """Whether the task is running."""
        return self._task is not None

    @property
    def is_closed(self) -> bool:
        """Whether events are no longer accepted."""
        return self._is_closed

    def start(self) -> None:
        """Start sending, on the running loop."""
        if self._task is None and not self._is_closed:
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._run())

    def counts(self) -> DeliveryCounts:
        """The counts of the events."""
        with self._lock:
            return DeliveryCounts(
                accepted=self._accepted,
                delivered=self._delivered,
                failed=self._failed,
                dropped=self._dropped,
                waiting=self._accepted - self._delivered - self._failed,
            )

    def offer(self, event: EncodedEvent) -> bool:
        """Queue an event; False if the queue is full.

        Raises:
            ClientClosedError: the client was closed.
        """
        entry = _Waiting(event, self._world.clock())
        with self._lock:
            if self._is_closed:
                raise ClientClosedError("the client is closed")
            waiting = self._accepted - self._delivered - self._failed
            if (
                waiting >= self._batching.queue_events
                or self._waiting_bytes + entry.size > self._batching.queue_bytes
            ):
                return False
            was_empty, was_full = not self._queue, self._is_batch_full()
            self._queue.append(entry)
            self._queued_bytes += entry.size
            self._waiting_bytes += entry.size
            self._accepted += 1
            is_due = was_empty or (not was_full and self._is_batch_full())
        if is_due and self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake.set)
        return True

    def drop(self, event: EncodedEvent) -> None:
        """Count an event that found no room, and pass it to ``on_error``."""
        with self._lock:
            self._dropped += 1
        self._report(event, QueueFullError("the queue is full"), 0)

    async def put(self, event: EncodedEvent) -> None:
        """Wait for room, then queue an event.

        Raises:
            ClientClosedError: the client was closed meanwhile.
        """
        async with self._settled:
            while not self.offer(event):
                await self._settled.wait()

    async def flush(self, timeout: float) -> DeliveryCounts:
        """Send everything queued, and wait until it is delivered or failed, or time is up."""
        with self._lock:
            target = self._accepted
        self._flush_to = max(self._flush_to, target)
        self._wake.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout), self._settled:
                await self._settled.wait_for(lambda: self._settled_count >= target)
        return self.counts()

    async def close(self, timeout: float) -> DeliveryCounts:
        """Stop accepting events, flush, and give up the rest when the time is over."""
        with self._lock:
            self._is_closed = True
        async with self._settled:
            self._settled.notify_all()
        if self._task is not None:
            try:
                await self.flush(timeout)
            finally:
                self._task.cancel()
                await asyncio.wait([self._task])
                self._give_up()
        return self.counts()

    @property
    def _settled_count(self) -> int:
        return self._delivered + self._failed

    def _give_up(self) -> None:
        with self._lock:
            left = [*self._under_way, *self._queue]
            self._queue.clear()
        for entry in left:
            self._fail(entry, ClientClosedError("the client was closed before it was delivered"))

    def _is_batch_full(self) -> bool:
        return (
            len(self._queue) >= self._batching.max_events or self._queued_bytes >= self._max_bytes
        )

    async def _run(self) -> None:
        while True:
            await self._until_due()
            await self._deliver(self._take())

    async def _until_due(self) -> None:
        while True:
            # Cleared before the check, so that a later arrival ends the wait.
            self._wake.clear()
            with self._lock:
                oldest = self._queue[0].since if self._queue else None
                is_full = self._is_batch_full()
            if oldest is None:
                await self._wake.wait()
                continue
            left = oldest + self._batching.max_age - self._world.clock()
            if is_full or left <= 0 or self._flush_to > self._settled_count:
                return
            await _first_of(self._wake.wait(), _awaited(self._world.sleep(left)))

    def _take(self) -> list[_Waiting]:
        taken: list[_Waiting] = []
        size = 0
        with self._lock:
            while self._queue and len(taken) < self._batching.max_events:
                size += self._queue[0].size
                if taken and size > self._max_bytes:
                    break
                taken.append(self._queue.popleft())
            self._queued_bytes -= sum(entry.size for entry in taken)
            self._under_way.update(dict.fromkeys(taken))
        return taken

    async def _deliver(self, batch: list[_Waiting]) -> None:
        backoff = self._batching.backoff
        attempt = 0
        while batch:
            attempt += 1
            outcomes: Sequence[BeaconResponse | ClientError]
            try:
                outcomes, asked = await self._attempt(batch)
            except ClientError as error:
                if isinstance(error, PayloadTooLargeError) and len(batch) > 1:
                    # A proxy in front of the service accepts less than the service.
                    self._max_bytes = max(sum(entry.size for entry in batch) // 2, 1)
                    await self._deliver(batch[: len(batch) // 2])
                    await self._deliver(batch[len(batch) // 2 :])
                    return
                outcomes, asked = [error] * len(batch), error.retry_after
            if any(isinstance(outcome, BeaconResponse) for outcome in outcomes):
                attempt = 1
            again: list[_Waiting] = []
            for entry, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, BeaconResponse):
                    self._deliver_one(entry, outcome)
                elif outcome.is_transient and attempt < backoff.attempts:
                    again.append(entry)
                else:
                    self._fail(entry, outcome)
            async with self._settled:
                self._settled.notify_all()
            batch = again
            if batch:
                await self._world.sleep(backoff.delay(attempt, self._world.chance(), asked))

    async def _attempt(
        self, batch: list[_Waiting]
    ) -> tuple[list[BeaconResponse | ClientError], float | None]:
        for entry in batch:
            entry.attempts += 1
        body = b"\n".join(entry.event.body for entry in batch)
        try:
            async with asyncio.timeout(self._batching.timeout):
                answer = await self._post(PATH, body, NDJSON)
        except TimeoutError:
            raise TimedOutError(f"no answer in {self._batching.timeout} s") from None
        return read_items(answer, len(batch)), retry_after(answer.headers)

    def _deliver_one(self, entry: _Waiting, response: BeaconResponse) -> None:
        self._settle(entry)
        with self._lock:
            self._delivered += 1
        if self._on_delivered is not None:
            _call_back(self._on_delivered, entry.event, response)

    def _fail(self, entry: _Waiting, error: ClientError) -> None:
        self._settle(entry)
        with self._lock:
            self._failed += 1
        self._report(entry.event, error, entry.attempts)

    def _settle(self, entry: _Waiting) -> None:
        with self._lock:
            self._under_way.pop(entry, None)
            self._waiting_bytes -= entry.size

    def _report(self, event: EncodedEvent, error: ClientError, attempts: int) -> None:
        if self._on_error is None:
            log.warning("an event was not delivered after %d attempts: %s", attempts, error)
            return
        failed = FailedEvent(
            event=event.event,
            idempotency_key=event.idempotency_key,
            error=error,
            attempts=attempts,
        )
        _call_back(self._on_error, failed)


def _call_back(function: Callable[..., object], *arguments: object) -> None:
    try:
        function(*arguments)
    except Exception:
        log.exception("a callback failed")


async def _awaited(awaitable: Awaitable[None]) -> None:
    await awaitable


async def _first_of(*coroutines: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
