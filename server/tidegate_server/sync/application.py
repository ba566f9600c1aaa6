"""The routes of sync, outside the control plane, so that a waiting call holds no thread."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import attrs
import msgspec

from tidegate_server.hot.admission import JSON
from tidegate_server.hot.hot_path import problem_answer
from tidegate_server.http.answer import Answer
from tidegate_server.http.exchange import read_body
from tidegate_server.http.headers import DATA_HEADERS, request_id_of
from tidegate_server.http.limits import MAX_BATCH_BYTES, MAX_BODY_BYTES, too_large
from tidegate_server.http.problems import Problem, problem_of
from tidegate_server.http.request import query_parameters, require_media_type
from tidegate_server.logging import log
from tidegate_server.stores.objects import daemons
from tidegate_server.sync import messages

if TYPE_CHECKING:
    from starlette.requests import Request

    from tidegate_server.hot.admission import Admission
    from tidegate_server.http.application import Handler
    from tidegate_server.http.exchange import Receive, Scope
    from tidegate_server.operators.key_ring import ApiKey
    from tidegate_server.stores.port import Store
    from tidegate_server.sync.feed import Feed, Signed
    from tidegate_server.sync.forwarded import Forwarding

PREFIX = "/api/v1/sync/"
MAX_WAIT_SECONDS = 60.0
MAX_UNPACKED_BYTES = 16 * 1024 * 1024
_GZIP = 16 + zlib.MAX_WBITS
_ACK = msgspec.json.Decoder(messages.Ack)


@attrs.frozen
class SyncCalls:
    """The routes of sync.

    Args:
        admission: knows the API keys.
        feed: produces the data sent to daemons.
        forwarding: takes the decisions that they send.
        store: stores their reports of themselves.
        clock: nanoseconds since 1970.
    """

    admission: Admission
    feed: Feed
    forwarding: Forwarding
    store: Store
    clock: Callable[[], int] = time.time_ns

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by their paths."""
        routes = {
            "snapshot": ("GET", self.snapshot),
            "changes": ("GET", self.changes),
            "ack": ("POST", self.ack),
            "events": ("POST", self.events),
        }
        return {PREFIX + name: partial(self._answer, *route) for name, route in routes.items()}

    async def _answer(
        self,
        method: str,
        handle: Callable[[ApiKey, Scope, Receive], Awaitable[Answer]],
        request: Request,
    ) -> Answer:
        scope, path = request.scope, request.scope["path"]
        request_id = request_id_of(scope["headers"])
        try:
            if request.method != method:
                detail = f"allowed is {method}"
                raise Problem("method-not-allowed", detail, headers={"allow": method})
            key = self.admission.credential(scope["headers"])
            if not key.can_sync:
                detail = "use a key that was made with `can_sync`"
                raise Problem("sync-not-permitted", detail)
            return await handle(key, scope, request.receive)
        except Exception as error:
            problem = problem_of(error)
            if problem.code == "internal-error":
                log.error("a sync call failed", path=path, request_id=request_id, exc_info=error)
            return problem_answer(problem, path, request_id)

    async def snapshot(self, key: ApiKey, scope: Scope, _: Receive) -> Answer:
        """Return everything that a daemon needs to decide."""
        _query(scope)
        return _sent(scope, await self.feed.snapshot(key.tenant_id))

    async def changes(self, key: ApiKey, scope: Scope, receive: Receive) -> Answer:
        """Return changes after a number, once there are any."""
        given = _query(scope, "after", "wait")
        newest = self.feed.log_of(key.tenant_id).sequence
        after, wait = _number(given, "after", newest), _number(given, "wait", 0)
        made = asyncio.ensure_future(
            self.feed.changes(key.tenant_id, after, min(float(wait), MAX_WAIT_SECONDS))
        )
        # Don't wait for a caller that has gone.
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((made, gone), return_when=asyncio.FIRST_COMPLETED)
            if not made.done():
                raise Problem("request-timeout", "the caller is gone")
            return _sent(scope, made.result())
        finally:
            gone.cancel()
            made.cancel()

    async def ack(self, key: ApiKey, scope: Scope, receive: Receive) -> Answer:
        """Store a daemon's report of itself."""
        require_media_type(scope["headers"], (JSON,))
        body = await read_body(scope, receive, MAX_BODY_BYTES)
        try:
            said = _ACK.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Problem("invalid-request", f"this is no acknowledgement: {error}") from None
        changes = self.feed.log_of(key.tenant_id)
        known = changes.hash_at(said.sequence)
        now = self.clock()
        daemon = daemons.Daemon(
            tenant_id=key.tenant_id,
            daemon_id=said.daemon_id,
            name=said.name[:200],
            version=said.version[:50],
            mode=said.mode[:50],
            sequence=_count(said.sequence),
            definitions_revision=_count(said.revision),
            is_equal=known is not None and known.hex() == said.hash,
            behind=changes.behind(said.sequence),
            spooled=_count(said.spooled),
            dropped=_count(said.dropped),
            first_seen_at_ns=now,
            last_seen_at_ns=now,
        )
        write = self.store.write(partial(daemons.put, daemon=daemon), quietly=True)
        await asyncio.wrap_future(write)
        said_back = {"is_equal": daemon.is_equal, "sequence": changes.sequence}
        return Answer(msgspec.json.encode(said_back), headers=_DATA_HEADERS)

    async def events(self, key: ApiKey, scope: Scope, receive: Receive) -> Answer:
        """Record decisions that a daemon made; only their bodies may be compressed."""
        plain = [each for each in scope["headers"] if each != (b"content-encoding", b"gzip")]
        require_media_type(plain, (JSON,))
        self.admission.require_room(key)
        body = await read_body(scope, receive, MAX_BATCH_BYTES)
        if _header(scope, b"content-encoding") == b"gzip":
            body = await asyncio.to_thread(_unpacked, body)
        taken = await self.forwarding.take(key, body)
        return Answer(msgspec.json.encode(taken), headers=_DATA_HEADERS)


_CHANGES = f"{PREFIX}changes".encode()
_DATA_HEADERS = tuple(
    (name.lower().encode(), value.encode()) for name, value in DATA_HEADERS.items()
)


def without_waiting(target: bytes) -> bytes | None:
    """Return a call for changes as one that doesn't wait; None if the call isn't one.

    Args:
        target: path and query of a request.
    """
    path, _, query = target.partition(b"?")
    kept = [each for each in query.split(b"&") if not each.startswith(b"wait=")]
    asked = b"&".join(kept)
    return path + b"?" + asked if path == _CHANGES and asked != query else None


def _sent(scope: Scope, signed: Signed) -> Answer:
    """Return a signed answer for this caller: compressed if accepted, empty if unchanged."""
    headers = (
        *_DATA_HEADERS,
        (b"etag", signed.etag.encode()),
        (messages.SIGNATURE.encode(), signed.signature.encode()),
        (b"vary", b"accept-encoding"),
    )
    if _header(scope, b"if-none-match") == signed.etag.encode():
        return Answer(b"", 304, headers)
    if signed.packed is not None and b"gzip" in _header(scope, b"accept-encoding"):
        return Answer(signed.packed, 200, (*headers, (b"content-encoding", b"gzip")))
    return Answer(signed.body, 200, headers)


def _header(scope: Scope, name: bytes) -> bytes:
    found: bytes = next((value for each, value in scope["headers"] if each == name), b"")
    return found


def _query(scope: Scope, *known: str) -> dict[str, str]:
    given = query_parameters(scope["query_string"])
    if given.keys() - set(known):
        raise Problem("invalid-request", f"the parameters are {', '.join(known) or 'none'}")
    return given


def _number(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise Problem("invalid-request", f"`{name}` has to be a whole number")
    return int(text)


def _count(value: int) -> int:
    return min(max(value, 0), 2**62)


def _unpacked(body: bytes) -> bytes:
    unpacking = zlib.decompressobj(_GZIP)
    try:
        unpacked = unpacking.decompress(body, MAX_UNPACKED_BYTES)
    except zlib.error:
        raise Problem("malformed-request", "the body is not packed with gzip") from None
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise too_large(MAX_UNPACKED_BYTES)
    return unpacked


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
