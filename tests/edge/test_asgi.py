"""The ASGI middleware under uvicorn: what passes, passes as it is."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.edge import serving
from tests.edge.conftest import asgi_site
from tests.edge.deciders import PROVEN, FixedDecider
from tests.integrations.asking import PROGRAM, ask

import tidegate
from tidegate import Allow, Decision
from tidegate.edge import AsgiMiddleware


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Gives every part of the body back when it comes."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while (message := await receive()).get("more_body"):
        await send({"type": "http.response.body", "body": message["body"], "more_body": True})
    await send({"type": "http.response.body", "body": message["body"]})


def test_bodies_stream_in_both_directions() -> None:
    """A part of the answer is there before the request is whole."""
    with serving.asgi(AsgiMiddleware(echo, FixedDecider())) as site:
        where = urlsplit(site)
        with socket.create_connection((str(where.hostname), where.port or 0), 30) as caller:
            caller.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 12\r\n\r\nfirst\x00")
            seen = b""
            while b"first\x00" not in seen:
                seen += caller.recv(4096)
            caller.sendall(b"second")
            while b"second" not in seen:
                seen += caller.recv(4096)


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
def test_what_is_no_http_request_goes_to_the_application(kind: str) -> None:
    """The application gets the server's own objects, without a decision."""
    decider, handed = FixedDecider(), []

    async def app(*arguments: object) -> None:
        handed.append(arguments)

    given: tuple[Any, Any, Any] = ({"type": kind}, object(), object())
    asyncio.run(AsgiMiddleware(app, decider)(*given))
    assert handed == [given]
    assert decider.asked == []


def test_a_slow_decision_holds_up_nobody_else() -> None:
    """Other requests are answered while one waits."""
    asked, answered = threading.Event(), threading.Event()

    class Slow:
        """Waits for the test where the path says so."""

        async def decide(self, event: Any, /) -> Decision:
            if event["request"]["path"] == "/slow":
                asked.set()
                await asyncio.to_thread(answered.wait, 30)
            return Decision(Allow(), "no-match")

    with serving.asgi(AsgiMiddleware(asgi_site, Slow())) as site:
        waiting = threading.Thread(target=ask, args=(site, "/slow"))
        waiting.start()
        assert asked.wait(30)
        assert ask(site, "/quick").status == 200
        assert waiting.is_alive()
        answered.set()
        waiting.join(30)


def test_a_client_for_threads_is_refused() -> None:
    """A client for threads is refused, since it would hold up the loop."""
    client = tidegate.Client("https://tidegate.test", "key")
    with client, pytest.raises(TypeError, match="AsyncClient"):
        AsgiMiddleware(asgi_site, client)


def test_an_engine_decides_on_the_loop() -> None:
    """The middleware works without a service too."""
    definitions = {
        "apiVersion": "tidegate/v1",
        "mitigations": [{"name": "Refuse", "mode": "Block", "block": {"status_code": 451}}],
        "policies": [
            {
                "name": "Law",
                "expression": 'request.path == "/no" && request.client_ip == "127.0.0.1"',
                "clauses": [{"mitigation": "refuse"}],
            }
        ],
    }
    engine = tidegate.Engine(tidegate.parse_definitions(definitions))
    with serving.asgi(AsgiMiddleware(asgi_site, engine)) as site:
        assert (ask(site, "/yes").status, ask(site, "/no").status) == (200, 451)


def test_the_access_log_of_the_server_has_no_proof(caplog: pytest.LogCaptureFixture) -> None:
    """The server writes it of the scope, in which the query has no proof any more."""
    made = AsgiMiddleware(asgi_site, FixedDecider(PROVEN))
    with (
        caplog.at_level(logging.INFO),
        serving.asgi(made, log_level="info", log_config=None) as site,
    ):
        ask(site, "/free?a=b&service_challenge_proof=UNMISTAKABLE", PROGRAM)
    assert "/free?a=b" in caplog.text
    assert "UNMISTAKABLE" not in caplog.text
