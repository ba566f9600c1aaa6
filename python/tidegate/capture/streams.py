"""From TCP segments to the requests of HTTP/1.1 in them.

One direction is read, from the client to the server.  All memory is bounded: connections, bytes
that came too early, and what of a request is kept.  What was lost on the way is skipped, and the
next request that begins a segment is read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import attrs
import httptools

from tidegate.capture.frames import FIN, RST, SYN, Segment

MAX_STREAMS = 50_000
MAX_EARLY_BYTES = 256 * 1024
"""Bytes of one connection that may wait for a missing part; past them the gap counts as lost."""
MAX_EARLY_SEGMENTS = 64
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
MAX_VALUE = 8 * 1024
_RING = 1 << 32
_METHODS = (b"GET ", b"POST", b"HEAD", b"PUT ", b"DELE", b"OPTI", b"PATC", b"TRAC", b"CONN")


@attrs.define
class Counts:
    """Counts of packets and requests since the start."""

    segments: int = 0
    requests: int = 0
    unreadable: int = 0
    """Segments, or connections, that were no HTTP."""
    gaps: int = 0
    """Places where bytes were missing and given up."""
    evicted: int = 0
    """Connections that had to make room."""


class Streams:
    """Puts segments together and reads requests.

    Args:
        ports: where servers listen; segments to other ports are passed over. Empty for any.
    """

    def __init__(self, ports: Iterable[int] = ()) -> None:
        self._ports = frozenset(ports)
        self._streams: OrderedDict[tuple[bytes, int, bytes, int], _Stream] = OrderedDict()
        self.counts = Counts()

    def add(self, segment: Segment) -> list[dict[str, Any]]:
        """The requests that are whole with a segment, as events without a time."""
        if self._ports and segment.destination_port not in self._ports:
            return []
        self.counts.segments += 1
        name = (
            segment.source,
            segment.source_port,
            segment.destination,
            segment.destination_port,
        )
        if segment.flags & (RST | SYN):
            self._streams.pop(name, None)
            if segment.flags & RST:
                return []
        stream = self._streams.get(name)
        if stream is None:
            if not segment.payload and not segment.flags & SYN:
                return []
            stream = self._streams[name] = _Stream(segment, self.counts)
            if len(self._streams) > MAX_STREAMS:
                self._streams.popitem(last=False)
                self.counts.evicted += 1
        else:
            self._streams.move_to_end(name)
        found = stream.add(segment)
        if segment.flags & FIN:
            self._streams.pop(name, None)
        self.counts.requests += len(found)
        return found


class _Stream:
    """One connection, from the client's side."""

    def __init__(self, first: Segment, counts: Counts) -> None:
        self._client = first.client
        self._counts = counts
        is_opening = bool(first.flags & SYN)
        self._next = (first.sequence + 1) % _RING if is_opening else first.sequence
        self._early: dict[int, bytes] = {}
        self._reader = _Reader(self._client, counts)

    def add(self, segment: Segment) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        payload, sequence = segment.payload, segment.sequence
        if segment.flags & SYN:
            sequence = (sequence + 1) % _RING
        ahead = (sequence - self._next) % _RING
        if ahead >= _RING // 2:  # Begins before what is read: sent again, in part or whole.
            known = _RING - ahead
            payload, ahead = payload[known:], 0
        if not payload:
            return found
        if ahead:
            self._early[sequence] = payload
            if len(self._early) <= MAX_EARLY_SEGMENTS and (
                sum(map(len, self._early.values())) <= MAX_EARLY_BYTES
            ):
                return found
            self._skip()
        else:
            found += self._take(payload)
        while (early := self._early.pop(self._next, None)) is not None:
            found += self._take(early)
        return found

    def _take(self, payload: bytes) -> list[dict[str, Any]]:
        self._next = (self._next + len(payload)) % _RING
        return self._reader.feed(payload)

    def _skip(self) -> None:
        """Give up the missing part, and go on with the first part that is there."""
        self._counts.gaps += 1
        self._next = min(self._early, key=lambda each: (each - self._next) % _RING)
        self._reader = _Reader(self._client, self._counts)


class _Reader:
    """Reads requests; a body is passed over."""

    def __init__(self, client: str, counts: Counts) -> None:
        self._client = client
        self._counts = counts
        self._parser: httptools.HttpRequestParser | None = None
        self._found: list[dict[str, Any]] = []
        self._url = b""
        self._headers: list[tuple[str, str]] = []
        self._size = 0

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        if self._parser is None:
            if not any(method.startswith(data[:4]) for method in _METHODS):
                self._counts.unreadable += 1
                return []
            self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, _TooLargeError):
            self._counts.unreadable += 1
            self._parser = None
            self._begin()
        found, self._found = self._found, []
        return found

    # The parser's side

    def on_message_begin(self) -> None:
        self._begin()

    def on_url(self, url: bytes) -> None:
        self._grow(len(url))
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._grow(len(name) + len(value))
        if len(self._headers) < MAX_HEADERS:
            text = value[:MAX_VALUE].decode("utf-8", "replace")
            self._headers.append((name.decode("ascii", "replace").lower(), text))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        method = self._parser.get_method().decode("ascii", "replace")
        self._found.append(request_event(method, self._url, self._headers, self._client))

    def _begin(self) -> None:
        self._url, self._headers, self._size = b"", [], 0

    def _grow(self, count: int) -> None:
        self._size += count
        if self._size > MAX_HEAD_BYTES:
            raise _TooLargeError


class _TooLargeError(Exception):
    """A head is larger than any that is read."""


def request_event(
    method: str, url: bytes, headers: list[tuple[str, str]], client: str
) -> dict[str, Any]:
    """A request as an event.

    Args:
        method: of HTTP.
        url: as it was sent.
        headers: names in lower case.
        client: address of the other end.
    """
    text = url[: 2 * MAX_VALUE].decode("utf-8", "replace")
    try:
        parts = urlsplit(text)
        path, query = parts.path or "/", parts.query
    except ValueError:
        path, query = text, ""
    merged: dict[str, str] = {}
    for name, value in headers:
        merged[name] = f"{merged[name]}, {value}" if name in merged else value
    request: dict[str, Any] = {
        "method": method,
        "path": path,
        "client_ip": client,
        "headers": merged,
    }
    if "user-agent" in merged:
        request["user_agent"] = merged["user-agent"]
    if query:
        request["query_params"] = dict(parse_qsl(query, keep_blank_values=True)[:MAX_HEADERS])
    if "cookie" in merged:
        pairs = (each.strip().partition("=") for each in merged["cookie"].split(";"))
        request["cookies"] = {name: value for name, _, value in pairs if name}
    return {"request": request}
