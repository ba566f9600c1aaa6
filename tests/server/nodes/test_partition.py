"""A partition at a node: how it is taken, and how it ends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any, cast

import attrs
from structlog.testing import capture_logs

from tidegate_server.cluster.ownership import Duties, Ownership
from tidegate_server.nodes.partition import NodePartition, Parts


@attrs.define
class Claim:
    """The lock of a partition."""

    partition: int
    term: int
    is_released: bool = False

    def release(self) -> None:
        """Let others take it."""
        self.is_released = True


@attrs.define(eq=False)
class Membership:
    """Grants a lock when it is told to."""

    grants: asyncio.Event = attrs.field(factory=asyncio.Event)
    taken: list[Claim] = attrs.field(factory=list)
    tries: int = 0
    is_held: bool = False
    """Whether another session has the lock."""
    ownership: Ownership = attrs.field(factory=lambda: Ownership("a"))

    async def take(self, partition: int) -> Claim | None:
        """Wait, then return a claim, unless the lock is held."""
        await self.grants.wait()
        self.tries += 1
        if self.is_held:
            return None
        self.taken.append(made := Claim(partition, len(self.taken) + 1))
        return made

    def wake(self) -> None:
        """Nobody has to be told."""


def partition_of(membership: Membership, begun: list[int]) -> NodePartition:
    """A partition at a node that has nothing else; what it begins is noted by its number."""

    async def prepare(partition: int, _ended: object) -> None:
        begun.append(partition)

    given: dict[str, Any] = {each.name: None for each in attrs.fields(Parts)}
    given |= {
        "name": "a",
        "calling": ssl.create_default_context(),
        "membership": membership,
        "is_stopping": lambda: False,
        "changed": lambda: None,
        "prepare": prepare,
    }
    return NodePartition(0, cast("Any", Parts)(**given))


def test_a_lock_that_is_granted_while_the_node_stops_begins_no_term() -> None:
    """The partition ends, and takes nothing afterwards."""

    async def stop_while_taking() -> None:
        membership, begun = Membership(), list[int]()
        partition = partition_of(membership, begun)
        partition.do(Duties(takes=frozenset({0})))
        await asyncio.sleep(0)
        closing = asyncio.create_task(partition.close())
        await asyncio.sleep(0)
        membership.grants.set()
        await asyncio.wait_for(closing, 10)
        partition.do(Duties(takes=frozenset({0}), follows=frozenset({0})))
        await asyncio.sleep(0)
        assert begun == []

    asyncio.run(stop_while_taking())


def test_a_term_that_ends_with_an_error_is_followed_by_a_pause() -> None:
    """The error is written, the lock is released, and the next term doesn't begin at once."""

    async def fail() -> Sequence[Claim]:
        membership = Membership()
        membership.grants.set()
        partition = partition_of(membership, [])  # what it prepares can't be used
        takes = Duties(takes=frozenset({0}))
        partition.do(takes)
        async with asyncio.timeout(10):
            while not membership.taken or not membership.taken[0].is_released:
                await asyncio.sleep(0.005)
        for _ in range(20):
            partition.do(takes)
            await asyncio.sleep(0.005)
        await partition.close()
        return membership.taken

    with capture_logs() as lines:
        taken = asyncio.run(fail())
    assert len(taken) == 1
    assert [each["log_level"] for each in lines if "with an error" in each["event"]] == ["error"]


def test_a_lock_that_a_stranger_holds_is_tried_again_after_a_pause() -> None:
    """A session that is of no member is in no view, and the log says why nobody is the owner."""

    async def take() -> int:
        membership = Membership(is_held=True)
        membership.grants.set()
        partition = partition_of(membership, [])
        for _ in range(20):
            partition.do(Duties(takes=frozenset({0})))
            await asyncio.sleep(0.005)
        await partition.close()
        return membership.tries

    with capture_logs() as lines:
        assert asyncio.run(take()) == 1
    held = [each for each in lines if "another session holds" in each["event"]]
    assert [each["log_level"] for each in held] == ["warning"]
