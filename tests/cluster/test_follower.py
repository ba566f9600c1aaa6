"""The follower's logic, with what reads found handed in."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from tidegate_server.cluster.follower import Follower
from tidegate_server.cluster.messages import Block, Entry, ReadRequest, ReadResult


@attrs.define
class Counting:
    """A state that counts entries."""

    count: int = 0

    def apply(self, entries: Sequence[Entry]) -> None:
        """Count them."""
        self.count += len(entries)


def follower() -> Follower[Counting]:
    """A follower of partition 7 that knows nothing."""
    return Follower(7, Counting())


def block(after: int, count: int = 1) -> Block:
    """Entries of the log."""
    return Block(after, (Entry("t", b"[]"),) * count)


def test_a_follower_comes_level_with_the_log() -> None:
    """It applies what it reads, until the end of the log."""
    made = follower()
    assert made.tick(0.0) == ReadRequest(7, 0)
    assert made.receive(ReadResult(7, 0, (block(0),), 3), 0.1) == ReadRequest(7, 1)
    assert not made.is_level
    assert made.receive(ReadResult(7, 1, (block(1, 2),), 3), 0.2) is None
    assert (made.position, made.decider.count, made.is_level) == (3, 3, True)
    assert made.next_at() == 0.2 + 0.1


def test_a_result_for_another_position_is_dropped() -> None:
    """A read that was repeated is applied once."""
    made = follower()
    for now in (0.1, 0.2):
        made.receive(ReadResult(7, 0, (block(0),), 1), now)
    assert (made.position, made.decider.count) == (1, 1)


def test_a_read_without_a_result_is_repeated() -> None:
    """A follower asks again after a second."""
    made = follower()
    made.tick(0.0)
    assert made.tick(0.5) is None
    assert made.tick(1.0) == ReadRequest(7, 0)


def test_a_gap_is_an_error() -> None:
    """Blocks that do not begin where the state ends are never applied."""
    with pytest.raises(ValueError, match="a block after 5"):
        follower().apply(block(5))
