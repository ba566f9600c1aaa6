"""The clients against a real service: what they read is what it writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from service_process import Service
from tests.client.scripted import Received, ScriptedServer, Step, reply

from tidegate import AsyncClient, Client
from tidegate.client import BeaconResponse, DeliveryCounts, FailedEvent
from tidegate.client.errors import (
    AuthenticationError,
    InvalidRequestError,
    NotFoundError,
    RateLimitedError,
)
from tidegate.decider import Allow, Block, Challenge


@pytest.fixture
def api_key(service: Service) -> str:
    """A key with a limit of its own: 60 at once and 10 a second."""
    return new_key(service, 600)


@pytest.fixture
def calls(service: Service, api_key: str) -> Iterator[Client]:
    """A patient client."""
    with Client(service.base_url, api_key, timeout=30) as client:
        yield client


def new_key(service: Service, limit: int) -> str:
    made = service.control(
        "POST",
        f"/tenants/{service.tenant_id}/api-keys",
        {"name": f"client-{uuid4()}", "rate_limit_per_minute": limit},
    )
    assert made.status_code == 201, made.text
    key: str = made.json()["key"]
    return key


def address() -> str:
    """One that no other test uses."""
    return f"2001:db8:{uuid4().hex[:4]}:{uuid4().hex[:4]}::1"


def probe(client_ip: str) -> Any:
    """A request that is blocked when it comes for the third time."""
    return {"method": "GET", "path": "/.env", "client_ip": client_ip}


def test_decisions_of_every_type_are_read(calls: Client) -> None:
    """Allowed, challenged and blocked, with all that each brings."""
    allowed = calls.decide(request={"method": "GET", "path": "/", "client_ip": address()})
    assert (allowed.action, allowed.reason) == (Allow(), "no-match")
    assert not allowed.is_fallback
    assert allowed.decision_id
    challenged = calls.decide(
        request={"method": "POST", "path": "/checkout", "client_ip": address()},
        fields={"risk_score": "0.9", "account_id": str(uuid4())},
    )
    assert (challenged.action.type, challenged.reason) == ("challenge", "policy")
    assert isinstance(challenged.action, Challenge)
    assert (challenged.action.redirect_url or "").startswith("http")
    visitor = address()
    decisions = [calls.decide(request=probe(visitor)) for _ in range(4)]
    assert [each.action.type for each in decisions] == ["allow", "allow", "block", "block"]
    assert decisions[2].action == Block(403, "Request refused.", {"cache-control": "no-store"})
    [after] = [calls.decide(request={"path": "/", "client_ip": visitor})]
    assert (after.action.type, after.reason) == ("block", "active-mitigation")


def test_a_key_that_was_used_gives_the_first_answer(calls: Client) -> None:
    """A used key gives the first answer, and with another body a refusal."""
    key = str(uuid4())
    first = calls.decide(fields={"a": "1"}, idempotency_key=key)
    again = calls.decide(fields={"a": "1"}, idempotency_key=key)
    assert first.decision_id == again.decision_id
    assert (first.is_replayed, again.is_replayed) == (False, True)
    with pytest.raises(InvalidRequestError) as caught:
        calls.decide(fields={"a": "2"}, idempotency_key=key)
    assert caught.value.code == "idempotency-key-reused"
    assert caught.value.request_id


def test_refusals_come_back_with_their_places(service: Service, calls: Client) -> None:
    """The problem documents of the service are the errors of the client."""
    with pytest.raises(InvalidRequestError) as caught:
        calls.decide(request={"path": 1})  # type: ignore[typeddict-item]
    assert caught.value.code == "invalid-event"
    assert [each.pointer for each in caught.value.errors] == ["/request/path"]
    with pytest.raises(InvalidRequestError) as caught:
        calls.decide(request={})
    assert caught.value.code == "empty-payload"
    with pytest.raises(NotFoundError):
        calls.send_now({"tenant_id": str(uuid4()), "fields": {"a": "b"}})
    with (
        Client(service.base_url, "tg_wrong_key", fail_mode="open") as stranger,
        pytest.raises(AuthenticationError) as unknown,
    ):
        stranger.decide(fields={"a": "b"})
    assert unknown.value.code == "unauthenticated"


def test_a_limit_that_is_reached_is_an_error_with_its_wait(service: Service) -> None:
    """``Retry-After`` of the service is read; waiting for it would take too long here."""
    with Client(service.base_url, new_key(service, 1), timeout=5) as calls:
        calls.decide(fields={"a": "b"})
        with pytest.raises(RateLimitedError) as caught:
            calls.decide(fields={"a": "b"})
    assert caught.value.retry_after
    assert caught.value.retry_after > 5


def test_one_event_is_answered(calls: Client) -> None:
    """An event's answer has its entity and the mitigation of its actor."""
    visitor = address()
    responses = [calls.send_now({"request": probe(visitor)}) for _ in range(3)]
    assert len({each.item_id for each in responses}) == 3
    assert len({each.lookup_entity_id for each in responses}) == 1
    assert [each.active_mitigation for each in responses] == [None, None, "Block"]


def test_batches_are_delivered_item_by_item(service: Service) -> None:
    """Of more events than one batch holds, the refused ones are reported apart from the others."""
    failed: list[FailedEvent] = []
    delivered: list[BeaconResponse] = []
    calls = Client(
        service.base_url,
        new_key(service, 600_000),
        on_error=failed.append,
        on_delivered=lambda _event, response: delivered.append(response),
    )
    with calls:
        for number in range(1_500):
            path: Any = f"/{number}" if number % 500 else number
            calls.send({"request": {"path": path}})
        counts = calls.flush()
    assert counts == DeliveryCounts(accepted=1_500, delivered=1_497, failed=3)
    assert [each.event["request"]["path"] for each in failed] == [0, 500, 1_000]
    assert {each.error.code for each in failed} == {"invalid-event"}
    assert len({each.item_id for each in delivered}) == 1_497


def test_a_batch_larger_than_the_limit_gets_through(service: Service, api_key: str) -> None:
    """Items over the limit are refused one by one, and sent again until they are not."""

    async def scene() -> DeliveryCounts:
        async with AsyncClient(service.base_url, api_key) as calls:
            for number in range(70):
                await calls.send({"fields": {"number": str(number)}})
            return await calls.flush()

    assert asyncio.run(scene()) == DeliveryCounts(accepted=70, delivered=70)


def test_an_event_whose_answer_was_lost_counts_once(
    service: Service, api_key: str, calls: Client
) -> None:
    """Two probes, each delivered twice, are two for the window: the third is the one blocked."""
    visitor = address()
    with ScriptedServer() as between, Client(between.base_url, api_key, timeout=30) as unlucky:
        between.script.extend([pass_on(service, is_lost=True), pass_on(service, is_lost=False)] * 2)
        assert unlucky.decide(request=probe(visitor)).is_replayed
        assert unlucky.send_now({"request": probe(visitor)}).active_mitigation is None
        assert len(between.received) == 4
    assert calls.decide(request={"path": "/", "client_ip": visitor}).action.type == "allow"
    assert calls.decide(request=probe(visitor)).action.type == "block"


def pass_on(service: Service, *, is_lost: bool) -> Step:
    """Hand a request to the service, and its answer back if it is not lost."""

    async def step(received: Received, writer: asyncio.StreamWriter) -> None:
        path = received.path.removeprefix("/api/v1")
        key = {"x-service-api-key": received.headers["x-service-api-key"]}
        answer = await asyncio.to_thread(service.post, path, received.body, key)
        if is_lost:
            writer.close()
            return
        replayed = answer.headers.get("idempotency-replayed", "false")
        await reply(answer.status_code, answer.json(), idempotency_replayed=replayed)(
            received, writer
        )

    return step
