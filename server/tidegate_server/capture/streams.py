"""Extracts HTTP/1.1 requests from TCP segments.

Requests come from the direction client to server; the other direction shows which of them the
server received.  All connections together have a memory limit; the connection idle for longest is
dropped first.  Lost bytes are skipped, and reading resumes at the next request that begins a
segment.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, TypeAlias

import attrs
import httptools

from tidegate.evaluation.target import protocol_name, query_members, read_target
from tidegate.limits import Limits
from tidegate_server.capture.frames import ACK, FIN, RST, SYN, Direction, Segment

MAX_BYTES = 36 * 1024 * 1024
"""Memory of all connections, by the estimates below; with the handshakes it stays below 64 MiB."""
MAX_OPENING = 32_768
"""Pending handshakes, some 500 bytes each."""
STREAM_BYTES = 2_048
"""Memory of an empty connection: its objects, and the parser's."""
PIECE_BYTES = 160
"""Memory of a pending piece, besides its bytes."""
HEADER_BYTES = 140
"""Memory of a header, besides its bytes."""
MAX_AHEAD = 4 * 1024 * 1024
"""The largest receive window that is accepted as real."""
MAX_EARLY_BYTES = 256 * 1024
"""Bytes of one connection that may wait for acknowledgement; further ones become a gap."""
MAX_EARLY_SEGMENTS = 64
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
MAX_PAIRS = Limits().event_members
QUERY_CUT = "query_cut"
"""The field that marks an event with parameters left out."""
MAX_VALUE = 8 * 1024
FORWARDED = "x-forwarded-for"
_RING = 1 << 32
_FEED_BYTES = 16 * 1024
_METHODS = (b"GET ", b"POST", b"HEAD", b"PUT ", b"DELE", b"OPTI", b"PATC", b"TRAC", b"CONN")
_Name: TypeAlias = tuple[bytes, int, bytes, int]
"""Address and port of the client, then of the server."""


@attrs.define
class Counts:
    """Counts of packets and requests since the start."""

    segments: int = 0
    requests: int = 0
    connections: int = 0
    """Connections with a complete handshake seen."""
    unsound: int = 0
    """Segments that were truncated, or had a wrong checksum."""
    unconfirmed: int = 0
    """Segments with content on connections without a handshake."""
    ambiguous: int = 0
    """Connections dropped because two different contents arrived for the same position."""
    unreadable: int = 0
    """Segments, or connections, that were not HTTP."""
    gaps: int = 0
    """Positions where missing bytes were given up."""
    evicted: int = 0
    """Connections dropped to make room."""


class Streams:
    """Reassembles segments and reads requests.

    A request counts once the server has acknowledged its bytes, on a connection with a handshake
    seen in both directions.  So nobody can send one from a spoofed address, or inject it into
    another connection: the server's own TCP would not accept it.

    Args:
        ports: ports of servers; connections to other ports are skipped. Empty for any.
        is_one_sided: whether the server's side is not visible.  Then everything that looks like a
            request counts, whoever sent it.
    """

    def __init__(self, ports: Iterable[int] = (), *, is_one_sided: bool = False) -> None:
        self._ports = frozenset(ports)
        self._is_one_sided = is_one_sided
        self._opening: OrderedDict[_Name, tuple[int, int]] = OrderedDict()
        """The sequence number the client has to acknowledge, and that of its first byte."""
        self._streams: OrderedDict[_Name, _Stream] = OrderedDict()
        self._bytes = 0
        self.counts = Counts()

    def __len__(self) -> int:
        return len(self._streams)

    def add(self, segment: Segment) -> list[dict[str, Any]]:
        """The requests that count once a segment has arrived, as events without a time."""
        if self._is_one_sided:
            if segment.direction is not Direction.OUTGOING:
                return self._seen_alone(segment)
        elif segment.direction is Direction.OUTGOING or (
            segment.direction is Direction.RECORDED and self._is_answer(segment)
        ):
            return self._answered(segment)
        elif segment.direction is not Direction.PASSING:
            self._received(segment)
        return []

    def _is_answer(self, segment: Segment) -> bool:
        """Whether a segment from a file was sent by the server."""
        name = _answer_name(segment)
        is_known = name in self._streams or name in self._opening
        return is_known or segment.flags & (SYN | ACK) == SYN | ACK

    def _answered(self, segment: Segment) -> list[dict[str, Any]]:
        if self._ports and segment.source_port not in self._ports:
            return []
        name = _answer_name(segment)
        if segment.flags & (SYN | ACK) == SYN | ACK:
            self._opening[name] = (segment.sequence + 1) % _RING, segment.acknowledged
            self._opening.move_to_end(name)
            if len(self._opening) > MAX_OPENING:
                self._opening.popitem(last=False)
            return []
        stream = self._streams.get(name)
        if stream is None:
            return []
        found = stream.acknowledge(segment.acknowledged) if segment.flags & ACK else []
        self.counts.requests += len(found)
        self._measure(stream)
        if segment.flags & RST or stream.is_over:
            self._remove(name)
        return found

    def _received(self, segment: Segment) -> None:
        if not self._is_counted(segment):
            return
        name = _request_name(segment)
        expected = self._opening.get(name)
        if expected is not None and _confirms(segment, *expected):
            del self._opening[name]
            self._open(name, _Stream(segment.client, expected[1], self.counts))
        stream = self._streams.get(name)
        if stream is None:
            self.counts.unconfirmed += bool(segment.payload)
            return
        self._streams.move_to_end(name)
        if not segment.flags & RST:
            stream.hold(segment)
            self._measure(stream)
        if stream.is_ambiguous:
            self.counts.ambiguous += 1
        if stream.is_ambiguous or (segment.flags & RST and segment.sequence == stream.next):
            self._remove(name)

    def _seen_alone(self, segment: Segment) -> list[dict[str, Any]]:
        if not self._is_counted(segment):
            return []
        name = _request_name(segment)
        if segment.flags & (RST | SYN):
            self._remove(name)
            if segment.flags & RST:
                return []
        stream = self._streams.get(name)
        if stream is None:
            if not segment.payload and not segment.flags & SYN:
                return []
            first = (segment.sequence + bool(segment.flags & SYN)) % _RING
            stream = _Stream(segment.client, first, self.counts)
            self._open(name, stream)
        else:
            self._streams.move_to_end(name)
        stream.hold(segment)
        found = stream.acknowledge(stream.whole_to())
        self.counts.requests += len(found)
        self._measure(stream)
        if stream.is_over:
            self._remove(name)
        return found

    def _is_counted(self, segment: Segment) -> bool:
        """Whether to examine a segment to a server."""
        if self._ports and segment.destination_port not in self._ports:
            return False
        self.counts.segments += 1
        self.counts.unsound += not segment.is_sound
        return segment.is_sound

    def _open(self, name: _Name, stream: _Stream) -> None:
        self._remove(name)
        self._streams[name] = stream
        self._bytes += stream.size
        self.counts.connections += 1
        self._make_room()

    def _measure(self, stream: _Stream) -> None:
        before, stream.size = stream.size, stream.measured()
        self._bytes += stream.size - before
        self._make_room()

    def _make_room(self) -> None:
        while self._bytes > MAX_BYTES:
            self._remove(next(iter(self._streams)))
            self.counts.evicted += 1

    def _remove(self, name: _Name) -> None:
        stream = self._streams.pop(name, None)
        if stream is not None:
            self._bytes -= stream.size
            stream.close()


def _request_name(segment: Segment) -> _Name:
    return segment.source, segment.source_port, segment.destination, segment.destination_port


def _answer_name(segment: Segment) -> _Name:
    return segment.destination, segment.destination_port, segment.source, segment.source_port


def _confirms(segment: Segment, acknowledged: int, first: int) -> bool:
    """Whether a segment completes a handshake: its sender knows the number the server chose."""
    return (
        segment.flags & (SYN | ACK | RST) == ACK
        and segment.acknowledged == acknowledged
        and (segment.sequence - first) % _RING <= MAX_AHEAD
    )


class _Stream:
    """One connection, from the client's side: the bytes it sent, and those acknowledged."""

    def __init__(self, client: str, first: int, counts: Counts) -> None:
        self._client = client
        self._counts = counts
        self._held: dict[int, bytes] = {}
        self._held_bytes = 0
        self._end: int | None = None
        self._reader = _Reader(client, counts)
        self.next = first
        """The sequence number of the first unacknowledged byte."""
        self.is_ambiguous = False
        """Whether two different contents arrived for the same position, so neither can be trusted.
        """
        self.size = self.measured()
        """Its last contribution to the total memory."""

    @property
    def is_over(self) -> bool:
        """Whether the client's FIN is acknowledged."""
        return self._end is not None and (self.next - self._end) % _RING < _RING // 2

    def close(self) -> None:
        """Release its memory."""
        self._held.clear()
        self._reader.close()

    def measured(self) -> int:
        """The approximate bytes it takes."""
        held = self._held_bytes + PIECE_BYTES * len(self._held)
        return STREAM_BYTES + held + self._reader.size

    def hold(self, segment: Segment) -> None:
        """Keep a segment's content until it is acknowledged."""
        payload = segment.payload
        sequence = (segment.sequence + bool(segment.flags & SYN)) % _RING
        ahead = (sequence - self.next) % _RING
        if ahead >= _RING // 2:  # It begins before the first: a full or partial retransmission.
            payload, sequence, ahead = payload[_RING - ahead :], self.next, 0
        if ahead > MAX_AHEAD:
            return
        if segment.flags & FIN:
            self._end = (sequence + len(payload) + 1) % _RING
        if payload:
            self._keep(sequence, payload)

    def _keep(self, sequence: int, payload: bytes) -> None:
        for at, known in self._held.items():
            ahead = (sequence - at) % _RING
            if ahead < len(known):
                mine, other = payload, known[ahead:]
            else:
                behind = (at - sequence) % _RING
                if behind >= len(payload):
                    continue
                mine, other = payload[behind:], known
            size = min(len(mine), len(other))
            if mine[:size] != other[:size]:
                self.is_ambiguous = True
                return
        before = len(self._held.get(sequence, b""))
        if len(payload) <= before:
            return
        is_new = sequence not in self._held
        if len(self._held) + is_new > MAX_EARLY_SEGMENTS or (
            self._held_bytes + len(payload) > MAX_EARLY_BYTES
        ):
            return  # It becomes a gap.
        self._held[sequence] = payload
        self._held_bytes += len(payload) - before

    def whole_to(self) -> int:
        """The end of the gapless data; past the gap when nothing more can be kept."""
        end = self.next
        if end not in self._held and (
            len(self._held) >= MAX_EARLY_SEGMENTS or self._held_bytes >= MAX_EARLY_BYTES // 2
        ):
            end = min(self._held, key=lambda at: (at - self.next) % _RING)
        while end in self._held:
            end = (end + len(self._held[end])) % _RING
        return (end + 1) % _RING if self._end == (end + 1) % _RING else end

    def acknowledge(self, number: int) -> list[dict[str, Any]]:
        """The requests completed by the bytes the server has received up to a number."""
        found: list[dict[str, Any]] = []
        while (size := (number - self.next) % _RING) and size < _RING // 2:
            taken = self._take(size)
            if taken is not None:
                found += self._reader.feed(taken)
        return found

    def _take(self, size: int) -> bytes | None:
        """The next bytes, at most as many; None if they are missing and skipped."""
        starts = ((self.next - at) % _RING for at in self._held)
        found = next(
            (
                (at, behind)
                for at, behind in zip(self._held, starts, strict=True)
                if behind < len(self._held[at])
            ),
            None,
        )
        if found is not None:
            at, behind = found
            payload = self._held[at][behind : behind + size]
            self.next = (self.next + len(payload)) % _RING
            self._forget()
            return payload
        missing = min(((at - self.next) % _RING for at in self._held), default=size)
        self.next = (self.next + min(size, missing)) % _RING
        self._forget()
        if not self.is_over:
            self._counts.gaps += 1
            self._reader.close()
            self._reader = _Reader(self._client, self._counts)
        return None

    def _forget(self) -> None:
        """Drop pieces that are fully acknowledged."""
        for at in list(self._held):
            if 0 < (self.next - at) % _RING < _RING // 2 and (
                (self.next - at) % _RING >= len(self._held[at])
            ):
                self._held_bytes -= len(self._held.pop(at))


class _Reader:
    """Reads requests; bodies are skipped."""

    def __init__(self, client: str, counts: Counts) -> None:
        self._client = client
        self._counts = counts
        self._parser: httptools.HttpRequestParser | None = None
        self._found: list[dict[str, Any]] = []
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._unfinished = 0
        """Bytes since the parser last finished something: it may hold all of them."""

    @property
    def size(self) -> int:
        """The approximate bytes it takes: names and values count twice, in the parser and as
        objects."""
        return 2 * self._unfinished + HEADER_BYTES * len(self._headers)

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The requests with a head completed by some data."""
        if self._parser is None:
            if not any(method.startswith(data[:4]) for method in _METHODS):
                self._counts.unreadable += 1
                return []
            self._parser = httptools.HttpRequestParser(self)
        try:
            for at in range(0, len(data), _FEED_BYTES):
                part = data[at : at + _FEED_BYTES]
                self._unfinished += len(part)
                self._parser.feed_data(part)
                if self._unfinished > MAX_HEAD_BYTES:
                    raise _TooLargeError
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, _TooLargeError):
            self._counts.unreadable += 1
            self._parser = None
            self._begin()
        found, self._found = self._found, []
        return found

    def close(self) -> None:
        """Release the parser: its reference cycle would wait for the garbage collector."""
        self._parser = None

    # Called by the parser

    def on_message_begin(self) -> None:
        self._begin()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) < MAX_HEADERS:
            self._headers.append((name, value[:MAX_VALUE]))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        method = self._parser.get_method().decode("ascii", "replace")
        headers = [
            (name.decode("ascii", "replace").lower(), value.decode("utf-8", "replace"))
            for name, value in self._headers
        ]
        event = request_event(method, self._url, headers, self._client)
        event["request"]["protocol"] = protocol_name(f"HTTP/{self._parser.get_http_version()}")
        self._found.append(event)
        self._begin()

    def on_body(self, _: bytes) -> None:
        self._unfinished = 0

    def on_message_complete(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._url, self._headers, self._unfinished = b"", [], 0


class _TooLargeError(Exception):
    """A request head is too large to be read."""


def request_event(
    method: str, url: bytes, headers: list[tuple[str, str]], client: str
) -> dict[str, Any]:
    """A request as an event.

    Args:
        method: the HTTP method.
        url: as sent.
        headers: names in lower case.
        client: address of the peer.
    """
    target = read_target(url[: 2 * MAX_VALUE].decode("utf-8", "replace"))
    merged: dict[str, str] = {}
    for name, value in headers:
        merged[name] = f"{merged[name]}, {value}" if name in merged else value
    fields: dict[str, Any] = {}
    request: dict[str, Any] = {"method": method, "path": target.path or "/", "headers": merged}
    if FORWARDED in merged:
        # As one more proxy would write it, so that the definitions' trusted proxies apply.
        merged[FORWARDED] = f"{merged[FORWARDED]}, {client}"
    else:
        request["client_ip"] = client
    if "user-agent" in merged:
        request["user_agent"] = merged["user-agent"]
    if target.host is not None:
        request |= {"scheme": target.scheme, "host": target.host}
    if target.query:
        pairs = target.query.split("&")
        is_cut = len(pairs) > MAX_PAIRS
        # Attacks hide behind many parameters, so keep the beginning and the end.
        kept = pairs[: MAX_PAIRS // 2] + pairs[-MAX_PAIRS // 2 :] if is_cut else pairs
        request |= query_members("&".join(kept))
        fields = {QUERY_CUT: True} if is_cut else {}
    cookies: dict[str, list[str]] = {}
    for each in merged.get("cookie", "").split(";"):
        name, _, value = each.strip().partition("=")
        if name:
            cookies.setdefault(name, []).append(value)
    if cookies:
        request["cookies"] = cookies
    return {"request": request, "fields": fields} if fields else {"request": request}
