"""Behaviour of every decider: one suite for the engine and both clients of a real service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import attrs
import pytest
from service_process import Service

from tidegate import (
    Allow,
    AsyncClient,
    Block,
    Challenge,
    Client,
    Decider,
    Decision,
    Engine,
    EventError,
)

DEFINITIONS: dict[str, Any] = {
    "apiVersion": "tidegate/v1",
    "actions": [
        {
            "name": "Failed login",
            "expression": 'request.path == "/login" && fields["status"] == "401"',
        }
    ],
    "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
    "mitigations": [
        {
            "name": "Refuse",
            "mode": "Block",
            "ttl_seconds": 120,
            "block": {"status_code": 429, "body": "later", "headers": {"retry-after": "120"}},
        },
        {"name": "Once", "mode": "Block", "ttl_seconds": 0},
        {"name": "Puzzle", "mode": "Challenge", "ttl_seconds": 0},
    ],
    "policies": [
        {
            "name": "Friends",
            "priority": 1,
            "expression": '"x-friend" in request.headers',
            "clauses": [{"final": True}],
        },
        {
            "name": "Guessing",
            "clauses": [
                {
                    "actions": ["failed_login"],
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 3},
                }
            ],
        },
        {
            "name": "Sharing",
            "expression": 'request.path == "/share"',
            "clauses": [
                {
                    "entity": "address",
                    "mitigation": "once",
                    "window": {
                        "duration_seconds": 60,
                        "threshold": 3,
                        "measure": "distinct",
                        "field": 'fields["account"]',
                    },
                }
            ],
        },
        {
            "name": "Trap",
            "expression": 'request.path == "/trap"',
            "clauses": [{"mitigation": "once"}],
        },
        {
            "name": "Checked",
            "expression": 'request.path == "/check"',
            "clauses": [{"mitigation": "puzzle"}],
        },
        {
            "name": "Watched",
            "expression": 'request.path == "/watched"',
            "clauses": [{"entity": "address"}],
        },
    ],
}


@attrs.frozen
class Scene:
    """A decider, and an actor that no other scene has."""

    ask: Callable[[dict[str, Any]], Decision]
    address: str
    start: datetime

    def decide(self, path: str, second: float = 0, **more: Any) -> Decision:
        """A request of the actor, a number of seconds after the start."""
        request = {"method": "GET", "path": path, "client_ip": self.address}
        request |= more.pop("request", {})
        at = (self.start + timedelta(seconds=second)).isoformat()
        return self.ask({"request": request, "observed_at": at, **more})

    def fail(self, second: float, **request: Any) -> Decision:
        """A failed login."""
        return self.decide("/login", second, fields={"status": "401"}, request=request)


def blocking(decider: Decider[Decision]) -> Callable[[dict[str, Any]], Decision]:
    """One that answers at once."""
    return decider.decide


def awaiting(
    decider: Decider[Awaitable[Decision]], loop: asyncio.AbstractEventLoop
) -> Callable[[dict[str, Any]], Decision]:
    """One that is awaited."""

    async def answer(event: dict[str, Any]) -> Decision:
        return await decider.decide(event)

    return lambda event: loop.run_until_complete(answer(event))


@pytest.fixture(scope="module")
def tenant_key(service: Service) -> str:
    """An API key of a tenant with these definitions."""
    made = service.control("POST", "/tenants", {"name": f"Contract {uuid4()}"}).json()
    tenant_id = made["tenant_id"]
    document = {**DEFINITIONS, "tenant": {"name": made["name"], "tenant_id": tenant_id}}
    assert service.control("PUT", f"/tenants/{tenant_id}/definitions", document).status_code == 200
    answer = service.control("POST", f"/tenants/{tenant_id}/api-keys", {"name": "contract"}).json()
    key: str = answer["key"]
    # The definitions decide soon after they are saved.
    with Client(service.base_url, key, timeout=30) as client:
        deadline = time.monotonic() + 30
        while client.decide({"request": {"path": "/trap"}}).action != Block():
            assert time.monotonic() < deadline, "the definitions do not decide"
    return key


@pytest.fixture(scope="module")
def engine() -> Engine:
    """One engine for all scenes, as one service is."""
    return Engine(DEFINITIONS)


@pytest.fixture(params=["Engine", "Client", "AsyncClient"])
def scene(
    request: pytest.FixtureRequest, service: Service, tenant_key: str, engine: Engine
) -> Iterator[Scene]:
    """A scene for each decider; the clients ask a service over its socket."""
    address = f"2001:db8:{uuid4().hex[:4]}:{uuid4().hex[:4]}::1"
    start = datetime.now(UTC) - timedelta(hours=1)
    if request.param == "Engine":
        yield Scene(blocking(engine), address, start)
    elif request.param == "Client":
        with Client(service.base_url, tenant_key, timeout=30) as client:
            yield Scene(blocking(client), address, start)
    else:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            calls = AsyncClient(service.base_url, tenant_key, timeout=30)
            yield Scene(awaiting(calls, loop), address, start)
            loop.run_until_complete(calls.close())


def test_what_no_policy_is_about_is_allowed(scene: Scene) -> None:
    """The allowing decision has a reason, and a type by which ``match`` recognises it."""
    decision = scene.decide("/")
    assert (decision.action, decision.reason) == (Allow(), "no-match")
    assert isinstance(decision, Decision)


def test_a_block_says_what_to_answer(scene: Scene) -> None:
    """Status, body and headers; without any, 403 and nothing."""
    for second in range(3):
        decision = scene.fail(second)
    assert decision.action == Block(429, "later", {"retry-after": "120"})
    assert scene.decide("/trap", 600).action == Block(403, "", {})
    assert decision.reason == "policy"


def test_a_challenge_is_told_apart(scene: Scene) -> None:
    """A service says where to go; an engine, which challenge was meant."""
    match scene.decide("/check").action:
        case Challenge(type="challenge") as challenge:
            assert challenge.redirect_url or challenge.provider
        case other:
            pytest.fail(f"no challenge: {other}")


def test_what_is_monitored_is_allowed(scene: Scene) -> None:
    """An event that only monitoring policies match is allowed, however often it comes."""
    assert {scene.decide("/watched", second).action for second in range(5)} == {Allow()}


def test_a_final_clause_ends_the_search(scene: Scene) -> None:
    """Clauses after a final clause are not evaluated."""
    assert scene.decide("/trap", request={"headers": {"x-friend": "1"}}).action == Allow()
    assert scene.decide("/trap").action == Block()


def test_a_window_is_reached_at_exactly_its_threshold(scene: Scene) -> None:
    """A window is reached by the event of its threshold, neither one earlier nor one later."""
    assert [scene.fail(second).action.type for second in range(3)] == ["allow", "allow", "block"]


def test_a_window_forgets_what_is_older_than_it(scene: Scene) -> None:
    """A window forgets events by their own times."""
    assert [scene.fail(second).action for second in (0, 1, 61, 122)] == [Allow()] * 4


def test_one_actor_is_not_counted_with_another(scene: Scene) -> None:
    """One actor is neither counted nor blocked with another."""
    for second in range(3):
        scene.fail(second)
    other = f"2001:db8:1::{uuid4().hex[:4]}"
    assert scene.fail(3, client_ip=other).action == Allow()


def test_a_mitigation_answers_whatever_the_actor_does_next(scene: Scene) -> None:
    """A mitigation answers as the policy that set it would."""
    for second in range(3):
        scene.fail(second)
    decision = scene.decide("/", 4)
    assert (decision.action.type, decision.reason) == ("block", "active-mitigation")


def test_a_mitigation_ends_in_time(scene: Scene) -> None:
    """A mitigation ends by the time of the event that asks."""
    for second in range(3):
        scene.fail(second)
    assert scene.decide("/", 121).action.type == "block"
    assert scene.decide("/", 123).action == Allow()


def test_a_distinct_window_counts_values(scene: Scene) -> None:
    """An account that comes again and again counts once."""
    accounts = ["ann", "ann", "bob", "ann", "cat"]
    answers = [
        scene.decide("/share", second, fields={"account": account}).action.type
        for second, account in enumerate(accounts)
    ]
    assert answers == ["allow", "allow", "allow", "allow", "block"]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"source": "edge"},
        {"request": {}, "fields": {}},
        {"remote_addr": "192.0.2.1", "status": 200},
        {"request": {"path": "/"}, "feilds": {"status": "401"}},
        {"request": {"path": 5}},
    ],
    ids=["nothing", "source", "empty", "foreign", "misspelt", "type"],
)
def test_what_is_no_event_is_refused(scene: Scene, event: dict[str, Any]) -> None:
    """Every decider refuses what isn't an event with the same exception."""
    with pytest.raises(EventError):
        scene.ask(event)
