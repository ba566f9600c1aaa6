"""Settings and hooks of middleware, through both kinds of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from tests.edge.deciders import FixedDecider, deciding

import tidegate
from tidegate import Block, Challenge
from tidegate.client.errors import UnreachableError
from tidegate.edge import AsgiMiddleware, WsgiMiddleware

GUESSING = {
    "apiVersion": "tidegate/v1",
    "actions": [
        {
            "name": "Failed login",
            "expression": 'request.path == "/login" && fields["status"] == "401"',
        }
    ],
    "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
    "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 900}],
    "policies": [
        {
            "name": "Password guessing",
            "clauses": [
                {
                    "actions": ["failed_login"],
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 3},
                }
            ],
        }
    ],
}
"""The first policy of the README."""


class Site:
    """A site behind middleware of one kind, called without a server."""

    def __init__(self, kind: str, decider: Any, **options: Any) -> None:
        self.status = 200
        self.error: Exception | None = None
        self._kind = kind
        make: Any = AsgiMiddleware if kind == "asgi" else WsgiMiddleware
        self._made = make(self._asgi if kind == "asgi" else self._wsgi, decider, **options)

    def visit(self, path: str = "/", peer: str = "192.0.2.7", host: str | None = "x") -> int:
        """The status of the answer to a GET."""
        return (
            self._by_asgi(path, peer, host)
            if self._kind == "asgi"
            else self._by_wsgi(path, peer, host)
        )

    async def _asgi(self, scope: Any, receive: Any, send: Any) -> None:
        if self.error is not None:
            raise self.error
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def _wsgi(self, environ: Any, start_response: Any) -> list[bytes]:
        if self.error is not None:
            raise self.error
        start_response(f"{self.status} Some phrase", [])
        return []

    def _by_asgi(self, path: str, peer: str, host: str | None) -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [] if host is None else [(b"host", host.encode())]
        scope = {
            "type": "http", "method": "GET", "scheme": "http", "path": path, "query_string": b"",
            "headers": headers, "client": (peer, 1) if peer else None, "server": ("own.test", 8080),
        }  # fmt: skip
        asyncio.run(self._made(scope, None, send))
        return int(sent[0]["status"])

    def _by_wsgi(self, path: str, peer: str, host: str | None) -> int:
        seen: list[str] = []
        environ = {
            "REQUEST_METHOD": "GET", "wsgi.url_scheme": "http", "PATH_INFO": path,
            "QUERY_STRING": "", "SERVER_NAME": "own.test", "SERVER_PORT": "8080",
            **({} if host is None else {"HTTP_HOST": host}),
            **({"REMOTE_ADDR": peer} if peer else {}),
        }  # fmt: skip
        self._made(environ, lambda status, *_: seen.append(status))
        return int(seen[0][:3])


@pytest.fixture(params=["asgi", "wsgi"])
def kind(request: pytest.FixtureRequest) -> str:
    """Both kinds of middleware."""
    return str(request.param)


def test_the_first_policy_of_the_readme_fires(kind: str) -> None:
    """Three refused logins block the fourth, though middleware asks before the answer."""
    site = Site(kind, tidegate.Engine(GUESSING))
    site.status = 401
    assert [site.visit("/login") for _ in range(4)] == [401, 401, 401, 403]
    assert site.visit("/login", peer="192.0.2.8") == 401


@pytest.mark.parametrize(("status", "is_reported"), [(200, False), (302, False), (404, True)])
def test_refusals_of_the_site_are_reported_as_second_events(
    kind: str, status: int, is_reported: bool
) -> None:
    """The second event is the first with the status, as the readers of logs write it."""
    decider = FixedDecider()
    site = Site(kind, decider, fields=lambda _: {"account": "ann"})
    site.status = status
    assert site.visit("/a") == status
    first, *more = decider.asked
    assert first["fields"] == {"account": "ann"}
    assert len(more) == is_reported
    for each in more:
        assert each["fields"] == {"account": "ann", "status": str(status)}
        assert each["request"] == first["request"]
        assert "return_url" not in each


def test_the_statuses_that_are_reported_may_be_set(kind: str) -> None:
    """Any collection of numbers, and an empty one for nothing."""
    decider = FixedDecider()
    Site(kind, decider, outcomes={200}).visit()
    assert len(decider.asked) == 2
    site = Site(kind, decider, outcomes=())
    site.status = 401
    site.visit()
    assert len(decider.asked) == 3


def test_an_error_of_the_site_is_an_outcome(kind: str) -> None:
    """It is reported as the 500 that the server answers, and raised as it was."""
    decider = FixedDecider()
    site = Site(kind, decider)
    site.error = RuntimeError("a defect of the site")
    with pytest.raises(RuntimeError, match="a defect of the site"):
        site.visit()
    assert decider.asked[1]["fields"] == {"status": "500"}


def test_a_client_sends_outcomes_in_the_background(kind: str) -> None:
    """Whatever has `send` is given the event there, and asked once."""

    sent: list[Mapping[str, Any]] = []

    class Sending(FixedDecider):
        def send(self, event: Mapping[str, Any]) -> bool:
            sent.append(event)
            return True

    decider = Sending()
    site = Site(kind, decider)
    site.status = 401
    site.visit()
    assert [len(decider.asked), len(sent)] == [1, 1]


def test_an_outcome_that_is_lost_is_said_once(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """The visitor has the answer and keeps it."""

    class Losing(FixedDecider):
        def send(self, event: Mapping[str, Any]) -> bool:
            raise UnreachableError("away")

    site = Site(kind, Losing())
    site.status = 401
    assert [site.visit(), site.visit()] == [401, 401]
    assert caplog.text.count("could not be reported") == 1


def test_what_is_answered_by_the_middleware_is_not_reported(kind: str) -> None:
    """A block isn't an answer of the site."""
    decider = deciding(Block(429))
    assert Site(kind, decider).visit() == 429
    assert len(decider.asked) == 1


def test_what_is_skipped_is_neither_asked_about_nor_reported(kind: str) -> None:
    """The hook gets the request as the framework has it."""
    decider = deciding(Block(429))
    name = "path" if kind == "asgi" else "PATH_INFO"
    site = Site(kind, decider, skip=lambda given: given[name] == "/healthz")
    site.status = 404
    assert [site.visit("/healthz"), site.visit("/a"), len(decider.asked)] == [404, 429, 1]


def test_every_decision_is_shown_and_its_absence_too(kind: str) -> None:
    """The hook is called before the decision is carried out."""
    seen: list[Any] = []
    decider = deciding(Block(429))
    site = Site(kind, decider, on_decision=lambda _, decision: seen.append(decision))
    site.visit()
    decider.answer = UnreachableError("away")
    assert site.visit() == 502
    assert [None if each is None else each.action.type for each in seen] == ["block", None]


@pytest.mark.parametrize(
    "answer", [Block(429), Challenge(redirect_url="https://t.test/c"), Challenge()]
)
def test_monitor_only_lets_everything_pass(kind: str, answer: Any) -> None:
    """Decisions are made, counted and shown; nobody is refused, not even without a decision."""
    seen: list[Any] = []
    decider = deciding(answer)
    site = Site(
        kind, decider, monitor_only=True, on_decision=lambda _, decision: seen.append(decision)
    )
    assert [site.visit(), site.visit(host="a b")] == [200, 200]
    assert seen[0].action == answer
    decider.answer = UnreachableError("away")
    assert site.visit() == 200


@pytest.mark.parametrize("hook", ["fields", "skip", "on_decision"])
def test_an_error_in_a_hook_is_one_of_the_application(kind: str, hook: str) -> None:
    """It never lets a visitor pass, also where the site fails open."""

    def broken(*_: object) -> None:
        raise LookupError("a defect of the hook")

    with pytest.raises(LookupError, match="a defect of the hook"):
        Site(kind, FixedDecider(), fail_open=True, **{hook: broken}).visit()


def test_fields_of_asgi_may_be_awaited() -> None:
    """A session may have to be looked up."""

    async def fields(_: Any) -> dict[str, str]:
        return {"account": "ann"}

    decider = FixedDecider()
    Site("asgi", decider, fields=fields).visit()
    assert decider.asked[0]["fields"] == {"account": "ann"}


def test_an_unknown_option_is_refused(kind: str) -> None:
    """A misspelt one is not passed over."""
    with pytest.raises(TypeError, match="failopen"):
        Site(kind, FixedDecider(), failopen=True)


CHALLENGING = {
    "apiVersion": "tidegate/v1",
    "mitigations": [{"name": "Prove", "mode": "Challenge"}],
    "policies": [
        {"name": "Gate", "expression": "true", "clauses": [{"name": "a", "mitigation": "prove"}]}
    ],
}


def test_an_engine_that_challenges_is_refused_when_the_middleware_is_made(kind: str) -> None:
    """Nothing could carry the challenge out; a mitigation that no policy uses does no harm."""
    with pytest.raises(ValueError, match="`prove` challenges"):
        Site(kind, tidegate.Engine(CHALLENGING))
    assert Site(kind, tidegate.Engine(CHALLENGING), monitor_only=True).visit() == 200
    unused = {**CHALLENGING, "policies": []}
    assert Site(kind, tidegate.Engine(unused)).visit() == 200
    draft = {**CHALLENGING, "policies": [{**CHALLENGING["policies"][0], "status": "draft"}]}  # type: ignore[dict-item]
    assert Site(kind, tidegate.Engine(draft)).visit() == 200


@pytest.mark.parametrize("peer", ["", "testclient", "localhost", "unix"])
def test_a_server_without_addresses_is_said_once(
    kind: str, peer: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The warning says what to set, and no name stands in for an address."""
    decider = FixedDecider()
    site = Site(kind, decider)
    site.visit(peer=peer)
    site.visit(peer=peer)
    assert decider.asked[0]["request"]["client_ip"] == ""
    (said,) = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert 'trusted_proxies=["unix"]' in said
    assert "TestClient(app, client=" in said


@pytest.mark.parametrize("peer", ["192.0.2.7", "2001:db8::1"])
def test_an_address_is_not_warned_about(
    kind: str, peer: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Both families of addresses are one."""
    Site(kind, FixedDecider()).visit(peer=peer)
    assert caplog.text == ""


def test_a_request_without_a_host_is_for_the_server(kind: str) -> None:
    """Test clients and HTTP/1.0 name none, and applications read the server's name then."""
    decider = FixedDecider()
    assert Site(kind, decider).visit(host=None) == 200
    assert decider.asked[0]["return_url"] == "http://own.test:8080/"
