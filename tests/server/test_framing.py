"""Frames between processes: whole, in order, however the bytes come, and bounded."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tidegate_server.framing import MAX_FRAME_BYTES, FrameProtocol, framed

PIECES = [1, 3, 7, 64, 1_000, 1_000_000]


class Wire(asyncio.Transport):
    """A transport that notes what becomes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_aborted


class Taking(FrameProtocol):
    """An end that keeps what it takes; ``wrong`` isn't a message to it."""

    def __init__(self) -> None:
        super().__init__()
        self.wire = Wire()
        self.connection_made(self.wire)
        self.found: list[bytes] = []

    def received(self, body: memoryview) -> None:
        if body == b"wrong":
            raise msgspec.DecodeError("it is wrong")
        self.found.append(bytes(body))


@pytest.mark.parametrize("piece", PIECES)
def test_frames_are_put_together_from_any_pieces(piece: int) -> None:
    """Small, empty and large frames come out as they were sent, whatever the pieces."""
    sent = [b"a", b"", b"b" * 40_000, b"c" * 255, b"d"]
    data = b"".join(framed(each) for each in sent)
    end = Taking()
    for place in range(0, len(data), piece):
        end.data_received(data[place : place + piece])
    assert end.found == sent
    assert end.is_open


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("bad", [framed(b"wrong"), (MAX_FRAME_BYTES + 1).to_bytes(4)])
def test_what_is_no_frame_ends_the_connection(bad: bytes, piece: int) -> None:
    """A frame above the bound, or without a message, ends the connection, and none after it
    counts."""
    data = framed(b"before") + bad + framed(b"after")
    end = Taking()
    for place in range(0, len(data), piece):
        if not end.wire.is_aborted:
            end.data_received(data[place : place + piece])
    assert end.found == [b"before"]
    assert end.wire.is_aborted


def test_a_frame_at_the_bound_is_waited_for() -> None:
    """The longest frame is one, so its beginning ends no connection."""
    end = Taking()
    end.data_received(MAX_FRAME_BYTES.to_bytes(4) + b"x")
    assert end.is_open
    assert end.found == []
