"""From frames to requests, in whatever order and pieces they come."""

from __future__ import annotations

import random
import struct

from tidegate.capture.frames import read_frame
from tidegate.capture.streams import Streams

REQUEST = (
    b"GET /a?x=1 HTTP/1.1\r\nHost: shop\r\nUser-Agent: browser\r\nCookie: a=b; c=d\r\n\r\n"
    b"POST /b HTTP/1.1\r\nHost: shop\r\nContent-Length: 3\r\n\r\nabc"
)
SYN, ACK = 0x02, 0x10


def frame(port: int, sequence: int, flags: int, payload: bytes = b"") -> bytes:
    """An Ethernet frame from 192.0.2.7 to port 80 of a server."""
    tcp = struct.pack(">HHIIBBHHH", port, 80, sequence, 0, 5 << 4, flags, 1000, 0, 0) + payload
    addresses = bytes([192, 0, 2, 7, 198, 51, 100, 1])
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0)
    return bytes(12) + b"\x08\x00" + head + addresses + tcp


def requests(streams: Streams, frames: list[bytes]) -> list[dict[str, object]]:
    segments = [read_frame(each) for each in frames]
    return [one["request"] for each in segments if each for one in streams.add(each)]


def connection(seed: int) -> list[bytes]:
    """Two requests in pieces, some out of order, some twice, across the end of the numbers."""
    chosen = random.Random(seed)
    first = (2**32 - chosen.randrange(200)) % 2**32
    pieces, at = [], 0
    while at < len(REQUEST):
        size = chosen.randint(1, 60)
        pieces.append(frame(1, (first + 1 + at) % 2**32, ACK, REQUEST[at : at + size]))
        at += size
    pieces += chosen.choices(pieces, k=2)
    tail = pieces[1:]
    chosen.shuffle(tail)
    return [frame(1, first, SYN), pieces[0], *tail]


def test_requests_are_read_in_any_pieces_and_order() -> None:
    """Both requests of a connection are found once, with their members."""
    for seed in range(200):
        found = requests(Streams([80]), connection(seed))
        assert [(each["method"], each["path"]) for each in found] == [("GET", "/a"), ("POST", "/b")]
        assert found[0]["client_ip"] == "192.0.2.7"
        assert found[0]["query_params"] == {"x": "1"}
        assert found[0]["cookies"] == {"a": "b", "c": "d"}


def test_what_is_lost_is_skipped() -> None:
    """After bytes that never came, the next request is read again."""
    streams = Streams([80])
    rest = [frame(2, 2_000 + 10 * number, ACK, b"x" * 10) for number in range(70)]
    requests(streams, [frame(2, 100, SYN), *rest])
    assert streams.counts.gaps == 1
    end = 2_000 + 700
    found = requests(streams, [frame(2, end, ACK, b"GET /again HTTP/1.1\r\nHost: a\r\n\r\n")])
    assert [each["path"] for each in found] == ["/again"]


def test_no_frame_is_an_error() -> None:
    """Whatever bytes come, they are a segment or nothing, and memory stays bounded."""
    chosen = random.Random(1)
    streams, base = Streams(), frame(3, 1, ACK, REQUEST)
    for _ in range(20_000):
        changed = bytearray(base)
        for _ in range(chosen.randint(1, 4)):
            changed[chosen.randrange(len(changed))] = chosen.randrange(256)
        segment = read_frame(bytes(changed[: chosen.randrange(len(changed) + 1)]))
        if segment is not None:
            streams.add(segment)
        segment = read_frame(chosen.randbytes(chosen.randrange(90)))
        if segment is not None:
            streams.add(segment)
    assert len(streams._streams) <= 50_000
