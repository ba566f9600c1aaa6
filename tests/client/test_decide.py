"""One decision: what is sent, what comes back, and what holds when nothing does."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from datetime import UTC, datetime

import pytest
from tests.client.scripted import ScriptedServer, cut, cut_midway, hang, problem, reply, trickle
from tests.client.worlds import QuickTime, world

from tidegate import AsyncClient, Client
from tidegate.client import Backoff, RuntimeDecision
from tidegate.client.errors import (
    AuthenticationError,
    ClientClosedError,
    ClientError,
    InvalidRequestError,
    PayloadTooLargeError,
    TimedOutError,
    UnavailableError,
    UnexpectedAnswerError,
    UnreachableError,
)
from tidegate.decider import Action, Allow, Block, Challenge
from tidegate.errors import EventError

KEY = "tg_test_key"
REQUEST = {"method": "POST", "path": "/login", "client_ip": "192.0.2.7"}


def client(server: ScriptedServer, time: QuickTime | None = None, **options: object) -> Client:
    return Client(server.base_url, KEY, world=world(time or QuickTime()), **options)  # type: ignore[arg-type]


def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_the_request_is_the_one_of_the_interface(server: ScriptedServer) -> None:
    """Path, key header and members are those of the specification, and None is left out."""
    with client(server, source="shop") as calls:
        calls.decide(
            request=REQUEST,
            fields={"account_id": "a-1"},
            return_url="https://shop.test/login",
            observed_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
        )
    [received] = server.received
    assert received.path == "/api/v1/runtime/mitigation"
    assert received.headers["x-service-api-key"] == KEY
    assert received.headers["content-type"] == "application/json"
    assert json.loads(received.body) == {
        "source": "shop",
        "observed_at": "2026-03-01T12:00:00Z",
        "idempotency_key": "key-1",
        "return_url": "https://shop.test/login",
        "request": REQUEST,
        "fields": {"account_id": "a-1"},
    }


def test_a_naive_datetime_is_refused_before_it_is_sent(server: ScriptedServer) -> None:
    """A datetime without a time zone is not taken for UTC: the refusal says what to do."""
    with client(server) as calls, pytest.raises(EventError, match="without a time zone"):
        calls.decide(request=REQUEST, observed_at=datetime(2026, 3, 1, 12))
    assert server.received == []


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"type": "allow"}, Allow()),
        (
            {"type": "challenge", "challenge": {"redirect_url": "https://x.test/c"}},
            Challenge(redirect_url="https://x.test/c"),
        ),
        ({"type": "block"}, Block(403, "", {})),
        ({"type": "block", "block": {"status_code": 429}}, Block(429)),
        (
            {"type": "block", "block": {"status_code": 403, "body": "no", "headers": {"a": "b"}}},
            Block(403, "no", {"a": "b"}),
        ),
    ],
)
def test_every_action_has_its_type(
    server: ScriptedServer, action: dict[str, object], expected: Action
) -> None:
    """An answer becomes one object with what its action needs."""
    server.script.append(reply(200, {"action": action, "reason": "policy", "decision_id": "d-1"}))
    with client(server) as calls:
        assert calls.decide(request=REQUEST) == RuntimeDecision(
            action=expected, reason="policy", decision_id="d-1", idempotency_key="key-1"
        )


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"action": {"type": "maybe"}},
        {"action": {"type": "challenge"}},
        {"action": {"type": "challenge", "challenge": {"redirect_url": 1}}},
        {"action": {"type": "block", "block": {"status_code": True}}},
        {"action": {"type": "block", "block": {"status_code": 200}}},
        {"action": {"type": "block", "block": {"headers": {"a": 1}}}},
        {"action": {"type": "block", "block": "x"}},
    ],
)
def test_another_shape_is_no_decision(server: ScriptedServer, content: object) -> None:
    """An answer of another shape is never read as a decision."""
    server.always = reply(200, content)
    with client(server) as calls, pytest.raises(UnexpectedAnswerError):
        calls.decide(request=REQUEST)


def test_a_replayed_answer_says_so(server: ScriptedServer) -> None:
    """The caller can tell the first answer of a key from the second."""
    answer = {"action": {"type": "allow"}, "reason": "no-match", "decision_id": "d"}
    server.script.append(reply(200, answer, idempotency_replayed="true"))
    with client(server) as calls:
        assert calls.decide(request=REQUEST, idempotency_key="mine").is_replayed
        assert not calls.decide(request=REQUEST).is_replayed
    assert server.events[0]["idempotency_key"] == "mine"


@pytest.mark.parametrize(
    "failure", [cut, cut_midway, problem(503, "overloaded"), problem(502, "x")]
)
def test_a_passing_failure_is_tried_again_with_the_same_bytes(
    server: ScriptedServer, failure: object
) -> None:
    """The key and everything else are equal, so that the service counts the decision once."""
    server.script.append(failure)  # type: ignore[arg-type]
    time = QuickTime()
    with client(server, time) as calls:
        assert not calls.decide(request=REQUEST).is_fallback
    first, second = server.received
    assert first.body == second.body
    assert time.sleeps == [0.05]


def test_retry_after_is_waited_for(server: ScriptedServer) -> None:
    """The service says when to come back, and is believed."""
    server.script.append(problem(429, "rate-limited", retry_after="1"))
    time = QuickTime()
    with client(server, time) as calls:
        calls.decide(request=REQUEST)
    assert time.sleeps == [1.05]


def test_a_wait_past_the_deadline_is_not_begun(server: ScriptedServer) -> None:
    """The client gives up at once when no answer can arrive in time."""
    server.always = problem(429, "rate-limited", retry_after="30")
    time = QuickTime()
    with client(server, time, fail_mode="open") as calls:
        decision = calls.decide(request=REQUEST)
    assert decision.is_fallback
    assert decision.error is not None
    assert decision.error.retry_after == 30
    assert (len(server.received), time.sleeps) == (1, [])


def test_attempts_are_bounded(server: ScriptedServer) -> None:
    """A service in trouble is not made worse by one call."""
    server.always = problem(503, "overloaded")
    with (
        client(server, backoff=Backoff(attempts=4)) as calls,
        pytest.raises(UnavailableError) as caught,
    ):
        calls.decide(request=REQUEST)
    assert (caught.value.code, caught.value.request_id) == ("overloaded", "r-1")
    assert len(server.received) == 4


@pytest.mark.parametrize("failure", [hang, trickle])
def test_the_timeout_holds_for_all_of_a_call(server: ScriptedServer, failure: object) -> None:
    """Silence and an endless trickle both end in time, which no read timeout would do."""
    server.always = failure  # type: ignore[assignment]
    with client(server, timeout=0.05) as calls, pytest.raises(TimedOutError):
        calls.decide(request=REQUEST)


@pytest.mark.parametrize(("mode", "action"), [("open", Allow()), ("closed", Block(503))])
def test_the_fail_mode_answers_for_a_service_that_is_away(mode: str, action: Action) -> None:
    """The integration chose beforehand, and the result says that it was not the service."""
    with Client(closed_port(), KEY, fail_mode=mode, world=world(QuickTime())) as calls:  # type: ignore[arg-type]
        decision = calls.decide(request=REQUEST)
    assert decision.action == action
    assert (decision.is_fallback, decision.reason) == (True, f"fail-{mode}")
    assert decision.decision_id is None
    assert isinstance(decision.error, UnreachableError)


@pytest.mark.parametrize("step", [hang, cut, problem(500, "internal-error"), reply(302, {})])
def test_whatever_is_the_services_fault_is_covered(server: ScriptedServer, step: object) -> None:
    """Silence, a cut, an internal error and a redirect are all no decision."""
    server.always = step  # type: ignore[assignment]
    with client(server, timeout=0.2) as calls:
        assert calls.decide(request=REQUEST, fail_mode="closed").is_fallback
        with pytest.raises(ClientError):
            calls.decide(request=REQUEST)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (problem(401, "unauthenticated"), AuthenticationError),
        (problem(422, "invalid-event"), InvalidRequestError),
        (problem(413, "body-too-large"), PayloadTooLargeError),
    ],
)
def test_no_fail_mode_covers_a_refusal(
    server: ScriptedServer, step: object, error: type[ClientError]
) -> None:
    """A refusal is raised in every fail mode, after one attempt."""
    server.always = step  # type: ignore[assignment]
    with client(server, fail_mode="open") as calls, pytest.raises(error):
        calls.decide(request=REQUEST)
    assert len(server.received) == 1


def test_a_request_that_is_too_large_never_reaches_the_fail_mode(server: ScriptedServer) -> None:
    """A service that stops reading it would look like one that is away."""
    with client(server, fail_mode="open") as calls, pytest.raises(PayloadTooLargeError):
        calls.decide(request={**REQUEST, "user_agent": "x" * 70_000})
    assert not server.received


@pytest.mark.parametrize("value", ["\ud800", {1, 2}, 2**80])
def test_what_is_no_json_is_refused_here(server: ScriptedServer, value: object) -> None:
    """An event that JSON cannot hold is refused before it is sent."""
    with client(server, fail_mode="open") as calls, pytest.raises(EventError):
        calls.decide(fields={"a": value})
    assert not server.received


def test_fallbacks_are_logged_once_and_so_is_their_end(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    """An outage is two lines, not one for each visitor."""
    caplog.set_level(logging.WARNING, "tidegate.client")
    server.always = cut
    with client(server, fail_mode="open") as calls:
        calls.decide(request=REQUEST)
        calls.decide(request=REQUEST)
        server.always = reply(200, {"action": {"type": "allow"}})
        calls.decide(request=REQUEST)
        calls.decide(request=REQUEST)
    first, second = caplog.messages
    assert "falling back to open" in first
    assert "after 2 fallbacks" in second


def test_the_same_calls_are_there_for_asyncio(server: ScriptedServer) -> None:
    """Decisions asked for at once are all answered, each with its own key."""

    async def scene() -> list[RuntimeDecision]:
        async with AsyncClient(server.base_url, KEY) as calls:
            return await asyncio.gather(*(calls.decide(request=REQUEST) for _ in range(20)))

    decisions = asyncio.run(scene())
    assert {decision.action for decision in decisions} == {Allow()}
    assert len({decision.idempotency_key for decision in decisions}) == 20


def test_a_call_that_is_cancelled_ends(server: ScriptedServer) -> None:
    """A visitor who leaves does not keep a connection busy."""

    async def scene() -> None:
        async with AsyncClient(server.base_url, KEY, timeout=60) as calls:
            server.script.append(hang)
            call = asyncio.create_task(calls.decide(request=REQUEST))
            while not server.received:
                await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await calls.decide(request=REQUEST)).action == Allow()

    asyncio.run(scene())


def test_one_event_is_answered(server: ScriptedServer) -> None:
    """The beacon's answer comes back as an object."""
    item = {"item_id": "i", "lookup_entity_id": "e", "active_mitigation": {"decision": "Block"}}
    server.script.append(reply(200, item))
    with client(server) as calls:
        response = calls.send_now({"request": REQUEST})  # type: ignore[typeddict-item]
    assert (response.item_id, response.lookup_entity_id) == ("i", "e")
    assert response.active_mitigation == "Block"
    assert server.received[0].path == "/api/v1/beacon/event"


@pytest.mark.parametrize("valid", [True, False])
def test_a_proof_is_verified(server: ScriptedServer, valid: bool) -> None:
    """The verdict is the service's; what cannot be verified is an error, never a no."""
    server.script.append(reply(200, {"valid": valid}))
    with client(server) as calls:
        assert calls.verify_proof("token") is valid
        server.script.extend([reply(200, {"valid": "yes"})] * 3)
        with pytest.raises(UnexpectedAnswerError):
            calls.verify_proof("token")
    assert json.loads(server.received[0].body) == {"token": "token"}
    assert server.received[0].path == "/api/v1/challenge/proof/verify"


def test_a_closed_client_refuses(server: ScriptedServer) -> None:
    """Nothing is begun that nobody would end."""

    async def scene() -> None:
        calls = AsyncClient(server.base_url, KEY)
        await calls.close()
        with pytest.raises(ClientClosedError):
            await calls.decide(request=REQUEST)
        with pytest.raises(ClientClosedError):
            await calls.send({})

    asyncio.run(scene())
    calls = client(server)
    calls.close()
    calls.close()
    with pytest.raises(ClientClosedError):
        calls.decide(request=REQUEST)
    with pytest.raises(ClientClosedError):
        calls.send({})


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": -1}, {"fail_mode": "maybe"}])
def test_options_that_mean_nothing_are_refused(options: dict[str, object]) -> None:
    """Options that make no sense are refused when the client is made."""
    with pytest.raises(ValueError, match=r"`timeout`|`fail_mode`"):
        Client("http://127.0.0.1", KEY, **options)  # type: ignore[arg-type]


def test_an_event_can_be_given_whole(server: ScriptedServer) -> None:
    """An event is given as an engine takes it; members by name replace its own."""
    with client(server) as calls:
        calls.decide({"request": REQUEST, "source": "edge"}, source="shop", fields={"a": "b"})
    sent = json.loads(server.received[0].body)
    assert (sent["request"], sent["source"], sent["fields"]) == (REQUEST, "shop", {"a": "b"})


def test_a_misspelt_member_is_refused_before_it_is_sent(server: ScriptedServer) -> None:
    """The service would not look at it."""
    with client(server) as calls, pytest.raises(EventError) as refused:
        calls.decide({"request": REQUEST, "feilds": {}})
    assert (refused.value.pointer, server.received) == ("/feilds", [])


@pytest.mark.parametrize("code", ["empty-payload", "invalid-event"])
def test_a_refused_event_is_an_event_error(server: ScriptedServer, code: str) -> None:
    """A refused event raises an engine's error, which is a refusal of the service too."""
    server.always = problem(422, code)
    with client(server) as calls, pytest.raises(EventError) as refused:
        calls.decide(request=REQUEST)
    assert isinstance(refused.value, InvalidRequestError)
    assert refused.value.code == code
