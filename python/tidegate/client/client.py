"""The client for threads."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import attrs

from tidegate.client.async_client import AsyncClient
from tidegate.client.batcher import GATHERED, Batching, OnDelivered, OnError
from tidegate.client.errors import ClientClosedError
from tidegate.client.loop_thread import LoopThread
from tidegate.client.results import DeliveryCounts
from tidegate.client.retries import CALLS, Backoff
from tidegate.client.world import REAL, World

if TYPE_CHECKING:
    import ssl
    from datetime import datetime

    from tidegate.client.results import BeaconResponse, FailMode, RuntimeDecision
    from tidegate.event_form import Event, RequestContext


@attrs.frozen
class _Process:
    """The parts of one process: connections and threads don't survive a fork."""

    pid: int
    calls: AsyncClient
    thread: LoopThread


class Client:
    """Asks a Tidegate service for decisions, and sends it events; thread-safe.

    An :class:`AsyncClient` on one background thread does the work, which is how ``timeout`` covers
    the whole call, including the host lookup.  Callbacks run on that thread (for an event without
    room, on the caller's) and must not wait for the client.  Events still queued when the
    interpreter exits are sent then, or passed to ``on_error``.  After a fork the child has its own
    connections and an empty queue.

    Args:
        base_url: the service's address, without ``/api/v1``.
        api_key: bound to one tenant; never shown by the client.
        source: default origin label.
        timeout: seconds a call may take in total: connection, attempts and waits.
        fail_mode: the result of ``decide`` if the service gives no decision in time: ``open``
            allows, ``closed`` blocks with status 503, ``raise`` raises.
        backoff: waits between the attempts of one call.
        batching: how ``send`` batches events.
        on_error: called with each event that ``send`` could not deliver; logged otherwise.
        on_delivered: called with each event that ``send`` delivered, and its response.
        tls: replaces the system's trust store; it must verify certificates and host names.
        allow_http: whether the key may be sent over plain HTTP to another machine.
        world: time, randomness and new keys.

    Raises:
        ValueError: an argument is invalid.
        ImportError: the extra ``client`` is not installed.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        source: str | None = None,
        timeout: float = 2.0,
        fail_mode: FailMode = "raise",
        backoff: Backoff = CALLS,
        batching: Batching = GATHERED,
        on_error: OnError | None = None,
        on_delivered: OnDelivered | None = None,
        tls: ssl.SSLContext | None = None,
        allow_http: bool = False,
        world: World = REAL,
    ) -> None:
        def connect() -> _Process:
            calls = AsyncClient(
                base_url,
                api_key,
                source=source,
                timeout=timeout,
                fail_mode=fail_mode,
                backoff=backoff,
                batching=batching,
                on_error=on_error,
                on_delivered=on_delivered,
                tls=tls,
                allow_http=allow_http,
                world=world,
            )
            return _Process(os.getpid(), calls, LoopThread())

        self._connect = connect
        self._when_full = batching.when_full
        self._lock = threading.Lock()
        self._is_closed = False
        self._process = connect()
        atexit.register(self.close)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a client can't be pickled or copied: create one with the same arguments where it is"
            " needed"
        )

    def __repr__(self) -> str:
        return repr(self._process.calls).replace("async_client.AsyncClient", "client.Client")

    def decide(
        self,
        event: Event | None = None,
        /,
        *,
        request: RequestContext | None = None,
        fields: Mapping[str, Any] | None = None,
        return_url: str | None = None,
        source: str | None = None,
        observed_at: datetime | str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        fail_mode: FailMode | None = None,
    ) -> RuntimeDecision:
        """Decide on one request; see :meth:`AsyncClient.decide`."""
        process = self._current()
        return process.thread.run(
            process.calls.decide(
                event,
                request=request,
                fields=fields,
                return_url=return_url,
                source=source,
                observed_at=observed_at,
                idempotency_key=idempotency_key,
                timeout=timeout,
                fail_mode=fail_mode,
            )
        )

    def send(self, event: Event) -> bool:
        """Queue an event; it is sent in a batch, in the background.

        An event with neither time nor idempotency key is stamped with the time of this call.

        Returns:
            False if the queue was full and the event was dropped.

        Raises:
            EventError: it cannot be written as JSON.
            PayloadTooLargeError: it has more than 64 KiB.
            ClientClosedError: the client was closed.
        """
        process = self._current()
        batcher = process.calls.batcher
        if not batcher.is_started:
            process.thread.run(_start(process.calls))
        encoded = process.calls.encode(event)
        if batcher.offer(encoded):
            return True
        if self._when_full == "block":
            process.thread.run(batcher.put(encoded))
            return True
        batcher.drop(encoded)
        return False

    def send_now(self, event: Event, *, timeout: float | None = None) -> BeaconResponse:
        """Send one event and wait for the outcome; see :meth:`AsyncClient.send_now`."""
        process = self._current()
        return process.thread.run(process.calls.send_now(event, timeout=timeout))

    def verify_proof(self, token: str, *, timeout: float | None = None) -> bool:
        """Whether a challenge proof is valid and belongs to the key's tenant.

        Raises:
            ClientError: it could not be verified.
        """
        process = self._current()
        return process.thread.run(process.calls.verify_proof(token, timeout=timeout))

    def flush(self, timeout: float = 30.0) -> DeliveryCounts:
        """Send all queued events; those left after ``timeout`` seconds stay queued."""
        process = self._current()
        return process.thread.run(process.calls.flush(timeout))

    def close(self, timeout: float = 10.0) -> DeliveryCounts:
        """Flush for at most ``timeout`` seconds, pass the rest to ``on_error``, disconnect."""
        process = self._process
        if process.pid != os.getpid():
            # A child that never used the client; queued events are its parent's.
            return DeliveryCounts()
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if not was_closed:
            atexit.unregister(self.close)
        # No thread can be started when the interpreter exits.
        if not was_closed and process.thread.is_started:
            process.thread.run(process.calls.close(timeout))
            process.thread.stop()
        return process.calls.counts

    @property
    def counts(self) -> DeliveryCounts:
        """The counts of events given to ``send``."""
        return self._process.calls.counts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _current(self) -> _Process:
        if self._is_closed:
            raise ClientClosedError("the client is closed")
        if self._process.pid != os.getpid():
            with self._lock:
                if self._process.pid != os.getpid():
                    self._process = self._connect()
        return self._process


async def _start(calls: AsyncClient) -> None:
    calls.batcher.start()
