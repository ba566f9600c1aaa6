"""A node: messages find the owner, the follower and the gateway that they are for."""

from __future__ import annotations

from itertools import count

from tests.cluster.parts import Blocks, Room, follower
from tests.simulation.model.node import Node, Parts, ReadRows
from tests.simulation.model.requests import AppendRequest, AppendResult, ClaimRequest

from tidegate.cluster.directory import Directory
from tidegate.cluster.gateway import Gateway
from tidegate.cluster.messages import Answer, Answers, ReadRequest, Send
from tidegate.cluster.rows import Join, Member, Place, Placement, Rows


def node() -> Node:
    numbers = count(1)
    parts = Parts(
        Gateway("a", lambda: f"d{next(numbers)}"),
        Directory("a", "a"),
        lambda _partition: follower(),
        lambda: Room(),
    )
    return Node(parts)


def joined(placement: Placement) -> Rows:
    members = {name: Member(name, name) for name in "ab"}
    return Rows(members, {7: placement}, {"t": 7})


def test_a_call_goes_through_gateway_owner_and_log() -> None:
    """One process alone decides and answers."""
    made, log = node(), Blocks()
    (claim,) = made.renewed(Join("a", "a"), 0.0, joined(Placement(7, "a", "b")), 0.0)
    assert isinstance(claim, ClaimRequest)
    made.log(log.claim(claim.request), 0.0)
    made.gateway.call("t", None, b"{}", 0.0)
    (send,) = made.turn(0.0, 1)
    assert isinstance(send, Send)
    assert made.batch(send.batch) == []
    (append,) = made.turn(0.0, 1)
    assert isinstance(append, AppendRequest)
    (answers,) = made.log(AppendResult(7, append.request, "done"), 0.1)
    assert isinstance(answers, Answers)
    assert made.answers(answers, 0.1) == [Answer("d1", b"1")]


def test_a_fenced_node_reads_the_rows() -> None:
    """Before it claims again it looks whether it still owns."""
    made, log = node(), Blocks()
    rows = joined(Placement(7, "a", "b"))
    (claim,) = made.renewed(Join("a", "a"), 0.0, rows, 0.0)
    assert isinstance(claim, ClaimRequest)
    made.log(log.claim(claim.request), 0.0)
    made.gateway.call("t", None, b"{}", 0.0)
    (send,) = made.turn(0.0, 1)
    assert isinstance(send, Send)
    made.batch(send.batch)
    (append,) = made.turn(0.0, 1)
    assert isinstance(append, AppendRequest)
    outputs = made.log(AppendResult(7, append.request, "fenced"), 0.1)
    assert outputs[-1] == ReadRows()
    assert any(isinstance(each, ClaimRequest) for each in made.read(rows, 0.2))


def test_a_follower_becomes_the_owner() -> None:
    """A node follows, says that it is level, and claims with the follower's state."""
    made, log = node(), Blocks()
    made.renewed(Join("a", "a"), 0.0, joined(Placement(7, "b", "a", is_moving=True)), 0.0)
    (_, read) = made.tick(1.0)
    assert read == ReadRequest(7, 0)
    made.log(log.read(0), 1.0)
    level = [each for each in made.tick(1.1) if isinstance(each, Place)]
    assert [each.placement.is_level for each in level] == [True]
    state = made.followers[7]
    outputs = made.read(joined(Placement(7, "a", term=1, version=2)), 1.2)
    assert any(isinstance(each, ClaimRequest) for each in outputs)
    assert made.owners[7].state is state
    assert made.followers == {}


def test_a_released_partition_is_given_to_its_follower() -> None:
    """The owner's release becomes a change of the rows."""
    made, log = node(), Blocks()
    (claim,) = made.renewed(Join("a", "a"), 0.0, joined(Placement(7, "a", "b")), 0.0)
    assert isinstance(claim, ClaimRequest)
    made.log(log.claim(claim.request), 0.0)
    moving = Placement(7, "a", "b", is_moving=True, is_level=True, version=1)
    assert made.read(joined(moving), 0.1) == [Place(Placement(7, "b", term=1, version=2))]
