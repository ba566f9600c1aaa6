"""Bodies that arrive slowly hold up nobody but their senders."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from tests.server.serving import PASSWORD, Caller, Served
from tools import plain_http

from tidegate_server.offload.kinds import Crowd
from tidegate_server.routing.route import Credential, Route
from tidegate_server.routing.routes import ROUTES

STRANGERS = [f"127.0.0.{number}" for number in range(20, 36)]
EACH = 17
"""Connections of each stranger: more than all the places there are."""
PUBLIC = [
    each
    for each in ROUTES
    if each.credential is not Credential.OPERATOR and each.body is not None and each.handler
]


def path_of(route: Route) -> str:
    """A path of a route, about things that there are not."""
    return route.paths[0].format_map(dict.fromkeys(route.parameters, str(uuid4())))


@contextmanager
def held_open(base_url: str, route: Route) -> Iterator[None]:
    """Requests of a route whose bodies have begun and do not go on, until the block ends."""
    where = urlsplit(base_url)
    head = (
        f"{route.method} {path_of(route)} HTTP/1.1\r\nhost: t\r\n"
        f"content-type: {route.media_types[0]}\r\ncontent-length: 900\r\n\r\n{{"
    )
    with ExitStack() as stack:
        for address in STRANGERS * EACH:
            made = socket.create_connection((str(where.hostname), where.port), 30, (address, 0))
            stack.enter_context(made).sendall(head.encode())
        yield


@pytest.mark.parametrize("route", PUBLIC, ids=lambda route: route.name)
def test_a_body_on_its_way_holds_no_place(served: Served, owner: Caller, route: Route) -> None:
    """Sixteen strangers with 272 slow bodies refuse no login, no visitor, and no operator."""
    path, headers = path_of(route), {"content-type": route.media_types[0]}
    someone = served.operator()
    bodies = served.application.bodies
    with held_open(served.base_url, route):
        ends = time.monotonic() + 60
        while bodies.total < len(STRANGERS) * EACH:
            assert time.monotonic() < ends, bodies.total
            time.sleep(0.02)
        assert [served.application.places[each].taken for each in Crowd] == [0] * len(Crowd)
        answer = plain_http.request(
            route.method, served.base_url + path, content=b"{", headers=headers, timeout=30
        )
        assert answer.status_code in (400, 404), answer.text
        assert owner.get("me").status_code == 200
        login = {"email": someone.email, "password": PASSWORD}
        assert served.http.post("/api/v1/auth/local/token", json=login).status_code == 200
    while bodies.total:
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_the_routes_without_a_token_that_take_a_body_are_known() -> None:
    """A new one is tried as the others are."""
    assert {each.name for each in PUBLIC} >= {"create-token", "solve-challenge", "verify-proof"}


def test_what_one_client_sends_is_bounded(
    served: Served, owner: Caller, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator with too many bytes on the way is refused, and another one is not."""
    bodies = served.application.bodies
    monkeypatch.setattr(bodies, "most_each", 10)
    answer = owner.post(f"{tenant}/actions", {"name": "Long", "expression": "true"})
    assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
    assert answer.headers["retry-after"] == "1"
    assert bodies.total == 0
