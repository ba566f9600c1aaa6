"""A partition at a node: how it is taken, and how it ends."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, cast

import attrs

from tidegate_server.cluster.ownership import Duties, Ownership
from tidegate_server.nodes.partition import NodePartition, Parts


@attrs.define(eq=False)
class Membership:
    """Grants a lock when it is told to."""

    grants: asyncio.Event = attrs.field(factory=asyncio.Event)
    ownership: Ownership = attrs.field(factory=lambda: Ownership("a"))

    async def take(self, partition: int) -> object:
        """Wait, then return a claim that nothing may be done with."""
        await self.grants.wait()
        return object()

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
