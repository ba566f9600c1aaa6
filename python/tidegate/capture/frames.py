"""From Ethernet frames to TCP segments; other frames and incomplete segments are skipped."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

_IPV4, _IPV6, _VLANS = 0x0800, 0x86DD, (0x8100, 0x88A8)
_TCP = 6
_EXTENSIONS = (0, 43, 60)
"""Headers of IPv6 that may stand before TCP: hop-by-hop, routing, destination."""
_MOST_EXTENSIONS = 4
_HALF = struct.Struct(">H")
_TCP_HEAD = struct.Struct(">HHIIBB")
FIN, SYN, RST = 0x01, 0x02, 0x04


class Segment(NamedTuple):
    """A TCP segment: addresses packed, and what it carries."""

    source: bytes
    destination: bytes
    source_port: int
    destination_port: int
    sequence: int
    flags: int
    payload: bytes

    @property
    def client(self) -> str:
        """The address of the sender, as text."""
        family = socket.AF_INET if len(self.source) == 4 else socket.AF_INET6
        return socket.inet_ntop(family, self.source)


def read_frame(frame: bytes) -> Segment | None:
    """The segment in a frame; None where there is none.

    Args:
        frame: from the Ethernet header on.
    """
    if len(frame) < 34:
        return None
    kind, start = _HALF.unpack_from(frame, 12)[0], 14
    for _ in range(2):
        if kind in _VLANS and len(frame) >= start + 4:
            kind, start = _HALF.unpack_from(frame, start + 2)[0], start + 4
    if kind == _IPV4:
        return _read_ipv4(frame, start)
    return _read_ipv6(frame, start) if kind == _IPV6 else None


def _read_ipv4(frame: bytes, start: int) -> Segment | None:
    head = frame[start]
    length = (head & 15) * 4
    if head >> 4 != 4 or length < 20 or len(frame) < start + length or frame[start + 9] != _TCP:
        return None
    if _HALF.unpack_from(frame, start + 6)[0] & 0x3FFF:
        return None  # A fragment: its content is not whole.
    end = start + _HALF.unpack_from(frame, start + 2)[0]
    addresses = frame[start + 12 : start + 16], frame[start + 16 : start + 20]
    return _read_tcp(frame, start + length, end, *addresses)


def _read_ipv6(frame: bytes, start: int) -> Segment | None:
    if len(frame) < start + 40 or frame[start] >> 4 != 6:
        return None
    end = start + 40 + _HALF.unpack_from(frame, start + 4)[0]
    addresses = frame[start + 8 : start + 24], frame[start + 24 : start + 40]
    kind, place = frame[start + 6], start + 40
    for _ in range(_MOST_EXTENSIONS):
        if kind not in _EXTENSIONS or len(frame) < place + 8:
            break
        kind, place = frame[place], place + 8 + frame[place + 1] * 8
    return _read_tcp(frame, place, end, *addresses) if kind == _TCP else None


def _read_tcp(
    frame: bytes, start: int, end: int, source: bytes, destination: bytes
) -> Segment | None:
    if end > len(frame) or end < start + 20:
        return None
    from_port, to_port, sequence, _, offset, flags = _TCP_HEAD.unpack_from(frame, start)
    length = (offset >> 4) * 4
    if length < 20 or start + length > end:
        return None
    payload = frame[start + length : end]
    return Segment(source, destination, from_port, to_port, sequence, flags, payload)
