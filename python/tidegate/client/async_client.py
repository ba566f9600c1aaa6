"""The client for asyncio."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import orjson

from tidegate.client.batcher import GATHERED, Batcher, Batching, OnDelivered, OnError
from tidegate.client.errors import ClientClosedError, ClientError, TimedOutError
from tidegate.client.events import EncodedEvent, encode_event, known_members, stamp
from tidegate.client.results import (
    BeaconResponse,
    DeliveryCounts,
    FailMode,
    RuntimeDecision,
    fallback,
    read_beacon,
    read_decision,
    read_proof,
)
from tidegate.client.retries import CALLS, Backoff
from tidegate.client.world import REAL, World

if TYPE_CHECKING:
    import ssl
    from datetime import datetime

    from tidegate.client.answer import Answer
    from tidegate.event_form import Event, RequestContext

log = logging.getLogger("tidegate.client")

T = TypeVar("T")

RUNTIME_PATH = "/api/v1/runtime/mitigation"
BEACON_PATH = "/api/v1/beacon/event"
PROOF_PATH = "/api/v1/challenge/proof/verify"


class AsyncClient:
    """Asks a Tidegate service for decisions, and sends it events.

    For asyncio, and for anyio on asyncio; it belongs to the loop on which it is first used.  Every
    event carries an idempotency key, so that retries count once.

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
        try:
            from tidegate.client.transport import Transport
        except ModuleNotFoundError as error:
            message = "the client needs an extra: pip install 'tidegate[client]'"
            raise ImportError(message, name=error.name) from None
        _check(timeout, fail_mode)
        self._transport = Transport(base_url, api_key, tls=tls, allow_http=allow_http)
        self._source = source
        self._timeout = timeout
        self._fail_mode = fail_mode
        self._backoff = backoff
        self._when_full = batching.when_full
        self._world = world
        self._fallbacks = 0
        self.batcher = Batcher(self._transport.post, batching, world, on_error, on_delivered)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a client can't be pickled or copied: create one with the same arguments where it is"
            " needed"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self._transport.base_url}>"

    async def decide(
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
        """Decide on one request.

        Args:
            event: the whole event, in the shape of docs/fields.md; members also given by name
                override its own.
            request: the visitor's request; include query parameters and cookies, since proofs are
                there.
            fields: any other values for rules.
            return_url: where a visitor returns after passing a challenge.
            source: origin label; by default the client's.
            observed_at: when the request arrived; by default its arrival at the service.
            idempotency_key: unique for the request; generated if None.
            timeout: seconds, instead of the client's.
            fail_mode: instead of the client's.

        Raises:
            ServiceError: the service rejects the key or the request, in every fail mode: a visitor
                must not be able to choose the fallback.
            ClientError: no decision came, and the fail mode is ``raise``.
            EventError: the event has an unknown member, cannot be written as JSON, or is rejected
                by the service (then an ``InvalidEventError``).
        """
        mode = self._fail_mode if fail_mode is None else fail_mode
        seconds = self._timeout if timeout is None else timeout
        _check(seconds, mode)
        named = {
            "observed_at": observed_at,
            "idempotency_key": idempotency_key,
            "source": source,
            "return_url": return_url,
            "request": request,
            "fields": fields,
        }
        members = {name: value for name, value in named.items() if value is not None}
        encoded = encode_event(known_members(event or {}) | members, self._source, self._world)
        key = encoded.idempotency_key
        try:
            decision = await self._call(
                RUNTIME_PATH, encoded.body, seconds, lambda answer: read_decision(answer, key)
            )
        except ClientError as error:
            if mode == "raise" or not error.is_transient:
                raise
            self._note_fallback(mode, error)
            return fallback(mode, error, key)
        self._note_decision()
        return decision

    async def send(self, event: Event) -> bool:
        """Queue an event; it is sent in a batch, in the background.

        An event with neither time nor idempotency key is stamped with the time of this call.

        Returns:
            False if the queue was full and the event was dropped.

        Raises:
            EventError: it cannot be written as JSON.
            PayloadTooLargeError: it has more than 64 KiB.
            ClientClosedError: the client was closed.
        """
        self.batcher.start()
        encoded = self.encode(event)
        if self.batcher.offer(encoded):
            return True
        if self._when_full == "block":
            await self.batcher.put(encoded)
            return True
        self.batcher.drop(encoded)
        return False

    async def send_now(self, event: Event, *, timeout: float | None = None) -> BeaconResponse:
        """Send one event and wait for the outcome.

        Raises:
            ClientError: it was rejected, or not delivered in time.
            EventError: it cannot be written as JSON.
        """
        encoded = encode_event(event, self._source, self._world)
        seconds = self._timeout if timeout is None else timeout
        return await self._call(BEACON_PATH, encoded.body, seconds, read_beacon)

    async def verify_proof(self, token: str, *, timeout: float | None = None) -> bool:
        """Whether a challenge proof is valid and belongs to the key's tenant.

        Raises:
            ClientError: it could not be verified.
        """
        seconds = self._timeout if timeout is None else timeout
        return await self._call(PROOF_PATH, orjson.dumps({"token": token}), seconds, read_proof)

    async def flush(self, timeout: float = 30.0) -> DeliveryCounts:
        """Send all queued events; those left after ``timeout`` seconds stay queued."""
        self.batcher.start()
        return await self.batcher.flush(timeout)

    async def close(self, timeout: float = 10.0) -> DeliveryCounts:
        """Flush for at most ``timeout`` seconds, pass the rest to ``on_error``, disconnect."""
        try:
            return await self.batcher.close(timeout)
        finally:
            await self._transport.close()

    @property
    def counts(self) -> DeliveryCounts:
        """The counts of events given to ``send``."""
        return self.batcher.counts()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def encode(self, event: Event) -> EncodedEvent:
        """Encode an event as ``send`` queues it."""
        return encode_event(stamp(event, self._world), self._source, self._world)

    async def _call(self, path: str, body: bytes, timeout: float, read: Callable[[Answer], T]) -> T:
        if self.batcher.is_closed:
            raise ClientClosedError("the client is closed")
        expires = self._world.clock() + timeout
        last: ClientError | None = None
        attempt = 0
        try:
            async with asyncio.timeout(timeout):
                while True:
                    attempt += 1
                    try:
                        return read(await self._transport.post(path, body))
                    except ClientError as error:
                        last = error
                    delay = self._backoff.delay(attempt, self._world.chance(), last.retry_after)
                    is_last = attempt == self._backoff.attempts
                    if not last.is_transient or is_last or self._world.clock() + delay >= expires:
                        raise last
                    await self._world.sleep(delay)
        except TimeoutError:
            pass
        before = "" if last is None else f"; the attempt before: {last}"
        raise TimedOutError(f"no answer in {timeout} s{before}")

    def _note_fallback(self, mode: FailMode, error: ClientError) -> None:
        self._fallbacks += 1
        if self._fallbacks == 1:
            log.warning("no decision from the service, falling back to %s: %s", mode, error)

    def _note_decision(self) -> None:
        if self._fallbacks:
            log.warning("the service decides again, after %d fallbacks", self._fallbacks)
            self._fallbacks = 0


def _check(timeout: float, fail_mode: str) -> None:
    if not timeout > 0:
        raise ValueError("`timeout` must be a positive number of seconds")
    if fail_mode not in ("open", "closed", "raise"):
        raise ValueError("`fail_mode` must be `open`, `closed` or `raise`")
