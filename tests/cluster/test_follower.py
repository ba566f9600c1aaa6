"""The follower's logic, with what reads found handed in."""

from __future__ import annotations

import pytest
from tests.cluster.parts import Blocks, call, entry, follower
from tests.simulation.model.deciding import Known

from tidegate_server.cluster.messages import Block, ReadRequest


def test_a_follower_comes_level_with_the_log() -> None:
    """It applies what it reads, until the log has no more."""
    log = Blocks(blocks=[Block(1, 0, (entry(1),)), Block(1, 1, (entry(2, "k"), entry(3)))])
    made = follower()
    request = made.tick(0.0)
    assert request == ReadRequest(7, 0)
    assert made.receive(log.read(0), 0.1) is None
    assert (made.position, made.is_level) == (3, True)
    assert made.recorded.find(call(9, "k")) == Known(b"2", True)
    assert made.next_at() == 0.1 + 0.1


def test_a_result_for_another_position_is_dropped() -> None:
    """A read that was repeated is applied once."""
    log = Blocks(blocks=[Block(1, 0, (entry(1),))])
    made = follower()
    made.receive(log.read(0), 0.1)
    made.receive(log.read(0), 0.2)
    assert made.position == 1


def test_a_read_without_a_result_is_repeated() -> None:
    """A follower asks again after a second."""
    made = follower()
    made.tick(0.0)
    assert made.tick(0.5) is None
    assert made.tick(1.0) == ReadRequest(7, 0)


def test_a_gap_is_an_error() -> None:
    """Blocks that do not begin where the state ends are never applied."""
    with pytest.raises(ValueError, match="a block after 5"):
        follower().apply(Block(1, 5, (entry(6),)))
