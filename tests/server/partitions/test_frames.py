"""Frames between server workers: whole, in order, however the bytes come."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.server.partitions.frames import FrameProtocol, Kind, frame


class Taking(FrameProtocol):
    """An end that keeps what it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def taken(self, kind: int, content: list[Any]) -> None:
        assert kind == content[0]
        self.found.append(content)


@pytest.mark.parametrize("piece", [1, 3, 7, 64, 1_000, 1_000_000])
def test_frames_are_put_together_from_any_pieces(piece: int) -> None:
    """Small and large frames come out as they were sent, whatever the pieces."""
    sent = [
        [int(Kind.PING)],
        [int(Kind.CALLS), 7, ["/a", "/b"], [b"x", None], [b"y" * 5_000, b""]],
        [int(Kind.SENT), 1, {"type": "http.response.body", "body": b"z" * 40_000}],
        [int(Kind.PONG)],
    ]
    data = b"".join(frame(*each) for each in sent)
    end = Taking()
    for place in range(0, len(data), piece):
        end.data_received(data[place : place + piece])
    assert end.found == sent
