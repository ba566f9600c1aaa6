"""Ethernet frames of TCP connections, as both of their sides send them."""

from __future__ import annotations

import struct
from ipaddress import ip_address

from tidegate_server.capture.frames import ACK, SYN, Direction, Frame, with_checksum

CLIENT, SERVER = "192.0.2.7", "198.51.100.1"
SERVER_FIRST = 7_000
"""The number of the server's SYN."""


def frame(
    port: int,
    sequence: int,
    flags: int,
    payload: bytes = b"",
    *,
    acknowledged: int = SERVER_FIRST + 1,
    client: str = CLIENT,
    server: str = SERVER,
    direction: Direction = Direction.INCOMING,
) -> Frame:
    """A frame from a port of a client to port 80 of a server."""
    made = packet((client, port), (server, 80), sequence, acknowledged, flags, payload)
    return Frame(made, direction)


def answer(
    port: int,
    acknowledged: int,
    flags: int = ACK,
    *,
    client: str = CLIENT,
    direction: Direction = Direction.OUTGOING,
) -> Frame:
    """A frame of the server back to a port of a client."""
    sequence = SERVER_FIRST if flags & SYN else SERVER_FIRST + 1
    made = packet((SERVER, 80), (client, port), sequence, acknowledged % 2**32, flags, b"")
    return Frame(made, direction)


def handshake(port: int, first: int, client: str = CLIENT) -> list[Frame]:
    """Three frames that open a connection; the client's first byte follows ``first``."""
    return [
        frame(port, first, SYN, acknowledged=0, client=client),
        answer(port, first + 1, SYN | ACK, client=client),
        frame(port, (first + 1) % 2**32, ACK, client=client),
    ]


def damaged(whole: Frame, at: int = -1) -> Frame:
    """A frame with a bit of a byte turned over, and its checksums left as they were."""
    content = bytearray(whole.content)
    content[at] ^= 1
    return whole._replace(content=bytes(content))


def packet(
    source: tuple[str, int],
    destination: tuple[str, int],
    sequence: int,
    acknowledged: int,
    flags: int,
    payload: bytes,
) -> bytes:
    """The bytes of a frame between two addresses with ports."""
    ports = source[1], destination[1]
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledged, 5 << 4, flags, 1000, 0, 0)
    tcp += payload
    addresses = ip_address(source[0]).packed + ip_address(destination[0]).packed
    if len(addresses) == 8:
        kind = b"\x08\x00"
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0)
        words = struct.unpack(">14H", head[:8] + head[8:10] + bytes(2) + addresses + bytes(8))
        total = sum(words)
        total = (total & 0xFFFF) + (total >> 16)
        head = head[:10] + struct.pack(">H", 0xFFFF - ((total & 0xFFFF) + (total >> 16)))
    else:
        kind = b"\x86\xdd"
        head = struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64)
    content = bytes(12) + kind + head + addresses + tcp
    return with_checksum(Frame(content, Direction.OUTGOING, has_checksum=False))
