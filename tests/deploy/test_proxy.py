"""The proxy of the Compose file, run with its Caddyfile before a site and a service."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
import yaml
from tests.deploy.test_deploy import DEPLOY
from tests.server.serving import Served, serving

PATIENCE = 60.0
"""Seconds that a program may take to begin on a busy machine."""


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def has_certificate(port: int, authority: Path) -> bool:
    """Whether the proxy has made its certificate: it listens a moment before."""
    trusted = ssl.create_default_context(cafile=str(authority))
    try:
        with (
            socket.create_connection(("localhost", port), timeout=5) as plain,
            trusted.wrap_socket(plain, server_hostname="localhost"),
        ):
            return True
    except (OSError, ssl.SSLError):
        return False


def listens(port: int) -> bool:
    """Whether somebody takes connections on a port of this machine."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


class Proxied:
    """A service, a site, and the proxy before both."""

    def __init__(self, service: Served, url: str, authority: Path) -> None:
        self.service = service
        trusted = ssl.create_default_context(cafile=str(authority))
        self.http = httpx2.Client(base_url=url, verify=trusted, timeout=PATIENCE)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory, proxy: None) -> Iterator[Proxied]:
    """Caddy with the Caddyfile of deploy/; only names and ports are those of this machine."""
    caddy = shutil.which("caddy")
    assert caddy, "the test needs caddy: apt-get install caddy"
    directory = tmp_path_factory.mktemp("proxy")
    ports = {name: free_port() for name in ("site", "proxy", "admin")}
    command = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["site"]["command"]
    site = shlex.split(command.replace(":8000", f"127.0.0.1:{ports['site']}"))[1:]
    with ExitStack() as stack, (directory / "log").open("wb") as log:
        service = stack.enter_context(serving(directory))
        text = (DEPLOY / "Caddyfile").read_text()
        for name, own in {
            "tidegate:8080": service.base_url.removeprefix("http://"),
            "site:8000": f"127.0.0.1:{ports['site']}",
            "localhost:8443": f"localhost:{ports['proxy']}",
        }.items():
            assert name in text
            text = text.replace(name, own)
        here = f"admin localhost:{ports['admin']}\n\tauto_https disable_redirects"
        (directory / "Caddyfile").write_text(f"{{\n\t{here}\n\tskip_install_trust\n}}\n{text}")
        environment = {**os.environ, "HOME": str(directory), "XDG_DATA_HOME": str(directory)}
        for arguments in (site, ["run", "--config", str(directory / "Caddyfile")]):
            process = subprocess.Popen([caddy, *arguments], env=environment, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        authority = directory / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        deadline = time.monotonic() + PATIENCE
        for port in (ports["site"], ports["proxy"]):
            while not (authority.exists() and listens(port)):
                assert time.monotonic() < deadline, (directory / "log").read_text()
                time.sleep(0.02)
        while not has_certificate(ports["proxy"], authority):
            assert time.monotonic() < deadline, (directory / "log").read_text()
            time.sleep(0.02)
        yield Proxied(service, f"https://localhost:{ports['proxy']}", authority)


def test_the_site_is_behind_the_proxy(proxied: Proxied) -> None:
    """What is not Tidegate's goes to the site."""
    assert proxied.http.get("/anything").text == "a small site"


def test_the_control_plane_is_behind_the_proxy(proxied: Proxied) -> None:
    """A call below ``/api`` reaches the service, with its method, headers and body."""
    caller, tenant_id = proxied.service.owner()
    caller.http = proxied.http
    made = caller.post(f"tenants/{tenant_id}/actions", {"name": "Probe", "expression": "true"})
    assert (made.status_code, made.json()["slug"]) == (201, "probe")
    assert made.headers["x-request-id"]


def test_a_stranger_is_refused_behind_the_proxy(proxied: Proxied) -> None:
    """The refusal is the service's own."""
    refused = proxied.http.get("/api/v1/tenants")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
