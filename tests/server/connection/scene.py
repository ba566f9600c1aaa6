"""A connection to a hot path whose decisions the test makes."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import attrs

from tidegate_server.connection.protocol import Protocol
from tidegate_server.hot.admission import Admission
from tidegate_server.hot.hot_path import RUNTIME, HotPath
from tidegate_server.http.answer import Answer
from tidegate_server.operators.key_ring import ApiKey, KeyRing, NewKey, make_key
from tidegate_server.turns.call import HotCall

PEPPER = bytes(32)
KEY = make_key(bytes(42), PEPPER)
ALLOWED = Answer(b'{"action":{"type":"allow"}}')


class Transport(asyncio.Transport):
    """Keeps what is written, and says what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_reading_paused = False
        self.is_closed = False

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False


@attrs.frozen
class Waiting:
    """Takes admitted calls, and leaves the decision to the test."""

    admission: Admission
    calls: list[HotCall] = attrs.field(factory=list)

    def add(self, call: HotCall) -> None:
        self.calls.extend(self.admission.admit_calls([call]))

    def answer(self, outcome: Answer | Exception = ALLOWED) -> bytes:
        """Decide the only call under way; its body."""
        [call] = self.calls
        assert call.endpoint is RUNTIME
        assert call.key.prefix == KEY.prefix
        self.calls.clear()
        body = call.body
        if outcome is ALLOWED:
            call.decided(ALLOWED.body)
        else:
            call.answer(outcome)
        return body


@attrs.frozen
class Undecided(HotPath):
    """A hot path whose decisions the test makes."""

    queue: Any = attrs.field(init=False)

    @queue.default
    def _make_waiting(self) -> Waiting:
        return Waiting(self.admission)


def keyed(keys: KeyRing, limit: int, key: NewKey = KEY) -> None:
    """One key in the ring, with a limit of events a minute."""
    hashes = ((key.secret_hash, None),)
    keys.replace([ApiKey(UUID(int=1), UUID(int=2), key.prefix, limit, hashes)])


@attrs.frozen
class Connection:
    """A connection that was just made."""

    protocol: Protocol
    transport: Transport
    loop: asyncio.AbstractEventLoop

    def receive(self, *chunks: bytes) -> None:
        for chunk in chunks:
            self.protocol.data_received(chunk)

    @property
    def sent(self) -> tuple[bytes, set[bytes], bytes]:
        """Status line, headers and body of the one answer there is, which is forgotten."""
        head, _, body = self.transport.written.partition(b"\r\n\r\n")
        status, *headers = head.split(b"\r\n")
        self.transport.written = b""
        assert b"content-length: %d" % len(body) in headers
        return status, set(headers), body


def request(body: bytes = b"{}", *headers: bytes, key: str = KEY.text, length: int = 0) -> bytes:
    """A hot call in the plain form."""
    lines = (
        b"POST %b HTTP/1.1" % RUNTIME.path.encode(),
        b"host: t",
        b"x-service-api-key: " + key.encode(),
        b"content-type: application/json",
        *headers,
        b"content-length: %d" % (length or len(body)),
    )
    return b"\r\n".join((*lines, b"", body))


def halves(data: bytes) -> tuple[bytes, bytes]:
    """The same bytes in two chunks: no plain form any more."""
    return data[: len(data) // 2], data[len(data) // 2 :]


def turn(connection: Connection) -> None:
    """Let the loop do what waits."""
    connection.loop.run_until_complete(asyncio.sleep(0))
