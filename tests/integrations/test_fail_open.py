"""Proxies that were set to fail open, as their examples say how."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.integrations.asking import ask
from tests.integrations.edges import EXAMPLES, Edge, running
from tests.server.deciding import Deciding, Service, deciding


def opened(name: str, directory: Path) -> Path:
    """A copy of an example that fails open."""
    folder = directory / name
    shutil.copytree(EXAMPLES / name, folder)
    if name == "caddy":
        (folder / "Caddyfile.fail-open").rename(folder / "Caddyfile")
        return folder
    if name == "haproxy":
        file = folder / "haproxy.cfg"
        setting = "global\n    setenv TIDEGATE_FAIL_OPEN true\n"
        file.write_text(file.read_text().replace("global\n", setting))
        return folder
    file = folder / {"nginx": "tidegate.conf.template", "envoy": "envoy.yaml"}[name]
    text = file.read_text()
    if name == "envoy":
        file.write_text(text.replace("failure_mode_allow: false", "failure_mode_allow: true"))
        return folder
    lines = text.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("    #     if "))
    end = next(at for at, line in enumerate(lines) if line.startswith("    #     proxy_pass"))
    place = max(at for at, line in enumerate(lines) if line.strip() == "return 502;")
    lines[place : place + 1] = [
        line.replace("    #     ", "        ") for line in lines[begin : end + 1]
    ]
    file.write_text("\n".join(lines))
    return folder


@pytest.fixture
def alone(tmp_path: Path, process: None) -> Iterator[Service]:
    """A service that a test may stop."""
    with deciding(tmp_path / "data") as made:
        yield made


@pytest.mark.parametrize("name", ["nginx", "caddy", "envoy", "haproxy"])
def test_without_the_service_a_visitor_passes(
    name: str, alone: Service, tmp_path: Path, proxy: None
) -> None:
    """Without the service visitors pass, except those whose request cannot be decided on."""
    key = alone.tenant().key
    with running(name, alone.base_url, key, tmp_path, opened(name, tmp_path)) as edge:
        check_that_nobody_chooses_it(edge)
        alone.process.terminate()
        alone.process.wait(30)
        assert ask(edge.base_url, "/").status == 200
        assert ask(edge.base_url, "/", method="POST", body=b"a=b").status == 200


def check_that_nobody_chooses_it(edge: Edge) -> None:
    """A visitor with too much of something is refused while the service is there."""
    many = "&".join(f"a{number}=" for number in range(300))
    assert ask(edge.base_url, f"/?{many}").status == 403
    assert ask(edge.base_url, "/", {"cookie": "a=" + "b" * 6_000 + ";a=" * 300}).status in (
        400,
        403,
    )
    headers = {f"x-{number}": "1" for number in range(99)}
    assert ask(edge.base_url, "/", headers).status in (403, 431)


def test_a_question_that_is_too_large_for_haproxy_is_refused(
    shop: Deciding, tmp_path: Path, proxy: None
) -> None:
    """HAProxy could not ask it, and would let the visitor pass."""
    folder = opened("haproxy", tmp_path)
    with running("haproxy", shop.service.base_url, shop.key, tmp_path, folder) as edge:
        for length in range(11_000, 15_000, 500):
            assert ask(edge.base_url, "/blocked", {"x-long": "a" * length}).status in (
                403,
                431,
                451,
            )
            assert ask(edge.base_url, "/blocked?" + "a" * length).status in (403, 431, 451)


@pytest.mark.parametrize("name", ["nginx", "caddy", "envoy", "haproxy"])
def test_a_block_stays_one(name: str, shop: Deciding, tmp_path: Path, proxy: None) -> None:
    """A block stays one, also with a status that would be a failure to the proxy."""
    folder = opened(name, tmp_path)
    with running(name, shop.service.base_url, shop.key, tmp_path, folder) as edge:
        closed = 503 if name in ("caddy", "haproxy") else 403
        assert [ask(edge.base_url, path).status for path in ("/closed", "/free")] == [closed, 200]


def test_a_site_that_fails_is_not_asked_again(shop: Deciding, tmp_path: Path, proxy: None) -> None:
    """Caddy asks the site once, and passes its error on instead of taking it for a failed check."""
    folder = opened("caddy", tmp_path)
    file = folder / "Caddyfile"
    text = file.read_text()
    # Nothing listens at the place of the site.
    file.write_text(
        text.replace("reverse_proxy 127.0.0.1:{$SITE_PORT:8001}", "reverse_proxy 127.0.0.1:9", 1)
    )
    with running("caddy", shop.service.base_url, shop.key, tmp_path, folder) as edge:
        assert ask(edge.base_url, "/free").status == 502


def test_an_answer_without_a_decision_passes(shop: Deciding, tmp_path: Path, proxy: None) -> None:
    """Tidegate is there and has no decision, as when its log cannot be written; a wrong key isn't
    such a failure."""
    folder = opened("caddy", tmp_path)
    with (
        answering(b"HTTP/1.1 502 -\r\nx-service-no-decision: 1\r\ncontent-length: 0\r\n") as url,
        running("caddy", url, shop.key, tmp_path, folder) as edge,
    ):
        assert ask(edge.base_url, "/free").status == 200
    with running("caddy", shop.service.base_url, "tg_wrong", tmp_path, folder) as edge:
        assert ask(edge.base_url, "/free").status == 401


@contextmanager
def answering(head: bytes) -> Iterator[str]:
    """A server that gives every question one answer, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(head + b"connection: close\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(30)
