"""A node: messages find the owner, the follower and the gateway that they are for."""

from __future__ import annotations

from itertools import count

import attrs
from tests.cluster.parts import Blocks, Room, follower
from tests.simulation.model.node import Node, Output, Parts
from tests.simulation.model.requests import (
    AppendRequest,
    AppendResult,
    Beat,
    ClaimRequest,
    Release,
    Take,
)

from tidegate_server.cluster.gateway import Gateway
from tidegate_server.cluster.messages import Answer, Answers, ReadRequest, Send
from tidegate_server.cluster.ownership import Member, Ownership, Partition, View

SESSION = 5
beats = count(1)


def node() -> Node:
    numbers = count(1)
    parts = Parts(
        Gateway("a", lambda: f"d{next(numbers)}"),
        Ownership("a"),
        {"t": 7},
        lambda _partition: follower(),
        lambda: Room(),
    )
    made = Node(parts)
    made.joined(SESSION)
    return made


def see(made: Node, partition: Partition, now: float) -> list[Output]:
    members = {"a": Member("a", "a", beat=next(beats), session=SESSION)}
    return made.seen(View({**members, "b": Member("b", "b", session=6)}, {7: partition}), now, now)


def owning(log: Blocks) -> Node:
    made = node()
    free = Partition(7, preferred="a")
    assert see(made, free, 0.0) == [Take(SESSION, 7)]
    assert see(made, free, 0.0) == []
    (claim,) = made.taken(Take(SESSION, 7), 1, 0.0)
    assert isinstance(claim, ClaimRequest)
    made.log(log.claim(claim.request), 0.0)
    see(made, attrs.evolve(free, owner="a"), 0.0)
    return made


def test_a_call_goes_through_gateway_owner_and_log() -> None:
    """One process alone decides and answers."""
    made = owning(Blocks())
    made.gateway.call("t", None, b"{}", 0.0)
    (send,) = made.turn(0.0, 1)
    assert isinstance(send, Send)
    assert made.batch(send.batch) == []
    (append,) = made.turn(0.0, 1)
    assert isinstance(append, AppendRequest)
    (answers,) = made.log(AppendResult(7, append.request, "done"), 0.1)
    assert isinstance(answers, Answers)
    assert made.answers(answers, 0.1) == [Answer("d1", b"1")]


def test_a_fenced_node_releases_the_partition() -> None:
    """It takes it again, or another one does."""
    made = owning(Blocks())
    made.gateway.call("t", None, b"{}", 0.0)
    (send,) = made.turn(0.0, 1)
    assert isinstance(send, Send)
    made.batch(send.batch)
    (append,) = made.turn(0.0, 1)
    assert isinstance(append, AppendRequest)
    outputs = made.log(AppendResult(7, append.request, "fenced"), 0.1)
    assert outputs[-1] == Release(SESSION, 7)
    assert see(made, Partition(7, preferred="a"), 0.2) == [Take(SESSION, 7)]


def test_a_follower_becomes_the_owner() -> None:
    """A node follows, shows that it is level, and claims with the follower's state."""
    made, log = node(), Blocks()
    see(made, Partition(7, "b", preferred="a"), 0.0)
    read = made.tick(1.0)[-1]
    assert read == ReadRequest(7, 0)
    made.log(log.read(0), 1.0)
    assert Beat(SESSION, frozenset({7})) in made.tick(2.0)
    state = made.followers[7]
    assert see(made, Partition(7, preferred="a"), 2.1) == [Take(SESSION, 7)]
    (claim,) = made.taken(Take(SESSION, 7), 1, 2.2)
    assert isinstance(claim, ClaimRequest)
    assert made.owners[7].state is state
    assert made.followers == {}


def test_a_partition_is_released_once_the_next_owner_is_ready() -> None:
    """The owner's end becomes the release of its lock."""
    made = owning(Blocks())
    moving = Partition(7, "a", preferred="b")
    assert see(made, moving, 0.1) == []
    ready = attrs.evolve(moving, level=frozenset("b"))
    assert see(made, ready, 0.2) == [Release(SESSION, 7)]
    assert made.ownership.held == {}


def test_a_node_that_lost_its_session_owns_nothing() -> None:
    """Its calls go back to their gateways."""
    made = owning(Blocks())
    assert made.owners[7].phase == "taking"
    made.lost(0.1)
    assert made.owners[7].phase == "idle"
