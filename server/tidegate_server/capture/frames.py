"""Extracts TCP segments from Ethernet frames; other frames and incomplete segments are skipped."""

from __future__ import annotations

import socket
import struct
from enum import Enum
from typing import NamedTuple

_IPV4, _IPV6, _VLANS = 0x0800, 0x86DD, (0x8100, 0x88A8)
_TCP = 6
_EXTENSIONS = (0, 43, 60)
"""IPv6 headers that may precede TCP: hop-by-hop, routing, destination."""
_MOST_EXTENSIONS = 4
_HALF = struct.Struct(">H")
_TCP_HEAD = struct.Struct(">HHIIBB")
_CHECKSUM_AT = 16
_ONES = 0xFFFF
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10


class Direction(Enum):
    """The direction of a frame as reported by the kernel, which no sender can choose."""

    INCOMING = "incoming"
    """To this machine's own link address."""
    OUTGOING = "outgoing"
    """Sent by this machine."""
    PASSING = "passing"
    """To another machine."""
    RECORDED = "recorded"
    """From a file, which doesn't record it."""


class Frame(NamedTuple):
    """A frame, from the Ethernet header on.

    Attributes:
        has_checksum: whether its TCP checksum can be verified.  The kernel leaves it to the network
            card for packets that it sends, and omits it between virtual machines on one host; it
            marks such packets, and their senders can't.
    """

    content: bytes
    direction: Direction = Direction.RECORDED
    has_checksum: bool = True


class Segment(NamedTuple):
    """A TCP segment: packed addresses and content.

    Attributes:
        is_sound: whether it is complete and both checksums are correct.  A segment sent by this
            machine is often neither: its network card computes the checksum.
    """

    source: bytes
    destination: bytes
    source_port: int
    destination_port: int
    sequence: int
    acknowledged: int
    flags: int
    payload: bytes
    direction: Direction = Direction.RECORDED
    is_sound: bool = True

    @property
    def client(self) -> str:
        """The address of the sender, as text."""
        family = socket.AF_INET if len(self.source) == 4 else socket.AF_INET6
        return socket.inet_ntop(family, self.source)


class _Place(NamedTuple):
    """The position of the TCP segment in a frame, and the packet's addresses."""

    start: int
    end: int
    source: bytes
    destination: bytes
    is_sound: bool = True
    """Whether the IP header's checksum is correct; IPv6 has none."""


def read_frame(frame: Frame) -> Segment | None:
    """The segment in a frame; None if there isn't one."""
    content, direction, has_checksum = frame
    place = _find(content)
    if place is None or len(content) < place.start + 20:
        return None
    start, end, source, destination, is_sound = place
    from_port, to_port, sequence, acknowledged, offset, flags = _TCP_HEAD.unpack_from(
        content, start
    )
    length = (offset >> 4) * 4
    if length < 20 or start + length > end:
        return None
    is_sound = is_sound and end <= len(content)
    if has_checksum and direction is not Direction.OUTGOING:
        is_sound = is_sound and _sum(content, place) % _ONES == 0
    return Segment(
        source,
        destination,
        from_port,
        to_port,
        sequence,
        acknowledged,
        flags,
        content[start + length : end],
        direction,
        is_sound,
    )


def with_checksum(frame: Frame) -> bytes:
    """The content of a frame, with the TCP checksum that the kernel left out."""
    place = None if frame.has_checksum else _find(frame.content)
    if place is None or place.end > len(frame.content):
        return frame.content
    content = bytearray(frame.content)
    at = place.start + _CHECKSUM_AT
    content[at : at + 2] = bytes(2)
    content[at : at + 2] = _HALF.pack(_ONES - _sum(bytes(content), place) % _ONES)
    return bytes(content)


def _find(content: bytes) -> _Place | None:
    if len(content) < 34:
        return None
    kind, start = _HALF.unpack_from(content, 12)[0], 14
    for _ in range(2):
        if kind in _VLANS and len(content) >= start + 4:
            kind, start = _HALF.unpack_from(content, start + 2)[0], start + 4
    if kind == _IPV4:
        return _find_ipv4(content, start)
    return _find_ipv6(content, start) if kind == _IPV6 else None


def _find_ipv4(content: bytes, start: int) -> _Place | None:
    if len(content) < start + 20:
        return None
    head = content[start]
    length = (head & 15) * 4
    if head >> 4 != 4 or length < 20 or len(content) < start + length:
        return None
    if content[start + 9] != _TCP or _HALF.unpack_from(content, start + 6)[0] & 0x3FFF:
        return None  # A fragment's content is incomplete.
    is_sound = int.from_bytes(content[start : start + length]) % _ONES == 0
    end = start + _HALF.unpack_from(content, start + 2)[0]
    addresses = content[start + 12 : start + 16], content[start + 16 : start + 20]
    if end < start + length + 20:
        return None
    return _Place(start + length, end, *addresses, is_sound)


def _find_ipv6(content: bytes, start: int) -> _Place | None:
    if len(content) < start + 40 or content[start] >> 4 != 6:
        return None
    end = start + 40 + _HALF.unpack_from(content, start + 4)[0]
    addresses = content[start + 8 : start + 24], content[start + 24 : start + 40]
    kind, place = content[start + 6], start + 40
    for _ in range(_MOST_EXTENSIONS):
        if kind not in _EXTENSIONS or len(content) < place + 8:
            break
        kind, place = content[place], place + 8 + content[place + 1] * 8
    return _Place(place, end, *addresses) if kind == _TCP and end >= place + 20 else None


def _sum(content: bytes, place: _Place) -> int:
    """A number that is 0 modulo 65535 if the ones' complement sum of a segment is (RFC 9293).

    65536 is 1 modulo 65535, so the remainder of the bytes as one number is the sum of their words.
    """
    data = content[place.start : place.end]
    pseudo = place.source + place.destination + struct.pack(">II", len(data), _TCP)
    return int.from_bytes(pseudo + data + bytes(len(data) % 2))
