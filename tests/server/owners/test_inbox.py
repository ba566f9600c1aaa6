"""The owner's inbox, with an application and a confirmation that a test gives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from uuid_utils import uuid7

from tidegate_server.hot.metrics import HotMetrics
from tidegate_server.owners.inbox import Inbox
from tidegate_server.owners.messages import Asked, Batch, Decided, HandedOn, Outcome, Outcomes

if TYPE_CHECKING:
    from tidegate_server.http.exchange import Receive, Scope, Send


class Hot:
    """A hot path that nothing reaches."""

    metrics = HotMetrics()


async def application(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer anything."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


def outcome_of(method: str, path: bytes, *, is_alive: bool) -> Outcome:
    """The outcome of a request at an owner whose session is alive, or has just ended."""

    async def run() -> Outcome:
        inbox = Inbox()
        found: asyncio.Future[Outcomes | Decided] = asyncio.get_running_loop().create_future()

        async def confirm() -> bool:
            return is_alive

        hot: Any = Hot()
        inbox.open(application, hot, 3, lambda: False, lambda: asyncio.ensure_future(confirm()))
        asked = Asked(method, path, [], b"", None, "http")
        inbox.take(Batch("others", 1, [HandedOn(uuid7().bytes, False, asked)], 3), found.set_result)
        outcomes = await found
        assert isinstance(outcomes, Outcomes)
        (outcome,) = outcomes.outcomes
        return outcome

    return asyncio.run(run())


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_read_waits_for_the_session_to_be_alive(method: str) -> None:
    """An owner that was replaced without knowing it would answer from before."""
    assert outcome_of(method, b"/api/v1/tenants", is_alive=True).refusal == ""
    assert outcome_of(method, b"/api/v1/tenants", is_alive=False).refusal == "given-up"


@pytest.mark.parametrize(
    ("method", "path"), [("POST", b"/api/v1/tenants"), ("GET", b"/authz"), ("PUT", b"/any")]
)
def test_what_is_appended_needs_no_more_than_its_epoch(method: str, path: bytes) -> None:
    """Its commit is refused when another owner has begun."""
    assert outcome_of(method, path, is_alive=False).refusal == ""
