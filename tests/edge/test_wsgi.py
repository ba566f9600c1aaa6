"""The WSGI middleware: what passes, passes as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.edge import serving
from tests.edge.conftest import wsgi_site
from tests.edge.deciders import PROVEN, FixedDecider
from tests.integrations.asking import ask

import tidegate
from tidegate.edge import WsgiMiddleware


def test_bodies_pass_untouched() -> None:
    """The application reads the body, and its own iterable goes to the server."""

    def echo(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))]

    content = bytes(range(256)) * 1000
    with serving.wsgi(WsgiMiddleware(echo, FixedDecider())) as site:
        assert ask(site, "/", method="POST", body=content).body == content


def test_the_answer_of_the_application_is_not_wrapped() -> None:
    """The answer stays as it is, so that the server can close it, and streams stay streams."""

    def parts() -> Iterator[bytes]:
        yield b"a"

    made = parts()
    environ = {
        "REQUEST_METHOD": "GET", "wsgi.url_scheme": "http", "HTTP_HOST": "x", "PATH_INFO": "/",
    }  # fmt: skip
    assert WsgiMiddleware(lambda *_: made, FixedDecider())(environ, lambda *_: print) is made


@pytest.mark.parametrize("name", ["RAW_URI", "REQUEST_URI"])
def test_the_path_is_as_it_was_written_where_the_server_has_it(name: str) -> None:
    """The path of a server that has only the decoded one is encoded again."""
    environ = {
        "REQUEST_METHOD": "GET", "wsgi.url_scheme": "https", "HTTP_HOST": "x",
        "PATH_INFO": "/a b/\xc3\xa9", "QUERY_STRING": "q=%2F",
    }  # fmt: skip
    decider = FixedDecider()
    made = WsgiMiddleware(wsgi_site, decider)
    made(dict(environ), lambda *_: print)
    made({**environ, name: "/a%20b%2F%C3%A9?q=%2F"}, lambda *_: print)
    made({**environ, name: "http://evil.test/x?q=%2F"}, lambda *_: print)
    addresses = [event["return_url"] for event in decider.asked]
    encoded = "https://x/a%20b/%C3%A9?q=%2F"
    assert addresses == [encoded, "https://x/a%20b%2F%C3%A9?q=%2F", encoded]


def test_the_environment_has_no_proof_any_more() -> None:
    """Servers write their access log of it."""
    environ = {
        "REQUEST_METHOD": "GET", "wsgi.url_scheme": "https", "HTTP_HOST": "x", "PATH_INFO": "/a",
        "QUERY_STRING": "a=b&service_challenge_proof=P",
        "RAW_URI": "/a?a=b&service_challenge_proof=P",
        "REQUEST_URI": "/a?service_challenge_proof=P",
    }  # fmt: skip
    WsgiMiddleware(wsgi_site, FixedDecider(PROVEN))(environ, lambda *_: print)
    kept = [environ[name] for name in ("QUERY_STRING", "RAW_URI", "REQUEST_URI")]
    assert kept == ["a=b", "/a?a=b", "/a"]


def test_a_client_for_asyncio_is_refused() -> None:
    """An asynchronous client is refused, since WSGI has no event loop."""

    async def made() -> None:
        async with tidegate.AsyncClient("https://tidegate.test", "key") as client:
            with pytest.raises(TypeError, match="Client"):
                WsgiMiddleware(wsgi_site, client)  # type: ignore[arg-type]

    asyncio.run(made())
