"""Questions between processes, with real inboxes of owners in one process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from tidegate_server.http.problems import Problem
from tidegate_server.owners.forwarding import Forwarding
from tidegate_server.owners.inbox import Inbox
from tidegate_server.owners.peers import has_decision, replying
from tidegate_server.owners.transports import over_unix

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

DECISION_ID = UUID(int=42)


async def _application(_scope: object, _receive: object, _send: object) -> None:
    """Nothing else is asked."""


async def _confirmed() -> bool:
    return True


def owner(number: int, reply: Callable[[str], Awaitable[object]] | None) -> Forwarding:
    """The forwarding to the owner of a partition, which is this process; without a reply the
    partition has no owner."""
    inbox = Inbox()
    made = Forwarding("here", number, inbox, over_unix)
    made.place("here", "", 1, 1)
    if reply is not None:
        hot: Any = None
        inbox.open(replying(reply, _application), hot, 1, lambda: False, _confirmed)
    return made


async def has_it(_what: str) -> bool:
    return True


async def lacks_it(_what: str) -> bool:
    return False


async def fails(_what: str) -> bool:
    raise OSError("the log can't be read")


def partition_of(*replies: Callable[[str], Awaitable[object]] | None) -> int | None:
    """The partition that is found to have the decision."""

    async def run() -> int | None:
        partitions = {number: owner(number, reply) for number, reply in enumerate(replies)}
        return await has_decision(partitions, DECISION_ID)

    return asyncio.run(run())


def test_the_owner_whose_log_has_a_decision_is_found() -> None:
    """One that has it is enough, whatever the others say; all have to lack it otherwise."""
    assert partition_of(lacks_it, has_it) == 1
    assert partition_of(None, fails, has_it) == 2
    assert partition_of(lacks_it, lacks_it) is None


@pytest.mark.parametrize("other", [None, fails])
def test_an_owner_that_does_not_answer_may_have_a_decision(
    other: Callable[[str], Awaitable[object]] | None,
) -> None:
    """A visitor whose challenge is there is asked to come again, not told that it is missing."""
    with pytest.raises(Problem) as raised:
        partition_of(lacks_it, other)
    assert raised.value.code == "not-ready"
