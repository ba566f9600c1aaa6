"""The Compose file: its commands and settings, run as processes, in front of its small site."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
import httpx2
import pytest
import yaml
from tests.deploy.test_deploy import DEPLOY
from tests.waiting import wait_until

PATIENCE = 60.0
"""Seconds that a program may take to begin on a busy machine."""
TEXT = (DEPLOY / "compose.yaml").read_text()
SERVICES: Mapping[str, Any] = yaml.safe_load(TEXT)["services"]
PASSWORD = "a password of eight words that nobody else has"
BROWSER = {"accept": "text/html", "sec-fetch-mode": "navigate"}
BLOCKED, CHALLENGED = "/blocked", "/challenged"
DEFINITIONS = {
    "mitigations": [
        {"name": "Refuse", "mode": "Block", "ttl_seconds": 0},
        {"name": "Prove", "mode": "Challenge", "ttl_seconds": 0},
    ],
    "policies": [
        {
            "name": "Law",
            "expression": f'request.path == "{BLOCKED}"',
            "clauses": [{"name": "any", "mitigation": "refuse"}],
        },
        {
            "name": "Gate",
            "expression": f'request.path == "{CHALLENGED}"',
            "clauses": [{"name": "any", "mitigation": "prove"}],
        },
    ],
}


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def has_certificate(port: int, authority: Path) -> bool:
    """Whether the proxy has made its certificate: it listens a moment before."""
    try:
        trusted = ssl.create_default_context(cafile=str(authority))
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


@attrs.frozen
class Here:
    """The addresses of the Compose file on this machine.

    Attributes:
        directory: the volumes, and the homes of the programs.
        ports: by what is written in the files: the names in the network, and the published ports.
    """

    directory: Path
    ports: Mapping[str, int]

    def placed(self, text: str) -> str:
        """A text of the files with the addresses and paths of this machine."""
        for written, port in self.ports.items():
            text = text.replace(written, f"{written.partition(':')[0]}:{port}")
        text = re.sub(r"\b(?:tidegate|site):(?=\d)", "127.0.0.1:", text)
        text = text.replace("--listen :8000", f"--listen 127.0.0.1:{self.ports['site:8000']}")
        return text.replace("/etc/caddy", str(self.directory))

    def environment(self, service: str, **given: str) -> dict[str, str]:
        """The environment of a service, its defaults where nothing is given."""

        def value(found: re.Match[str]) -> str:
            return given.get(found[1], found[2])

        own = SERVICES[service].get("environment", {})
        filled = {
            name: self.placed(re.sub(r"\$\{(\w+):-([^}]*)\}", value, text))
            for name, text in own.items()
        }
        own_folders = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
        return {**os.environ, **dict.fromkeys(own_folders, str(self.directory)), **filled}


@attrs.frozen
class Proxied:
    """The site and Tidegate, each at its address behind the proxy."""

    site: httpx2.Client
    tidegate: httpx2.Client
    token: str
    tenant_id: str


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, proxy: None, process: None) -> Here:
    """A folder, and a port for each address."""
    names = ("tidegate:8080", "site:8000", "localhost:8443", "localhost:9443")
    directory = tmp_path_factory.mktemp("compose")
    made = Here(directory, {name: free_port() for name in names})
    text = made.placed((DEPLOY / "Caddyfile").read_text())
    # Other tests may use Caddy's usual ports, and no test changes what this machine trusts.
    own = "admin off\n\tauto_https disable_redirects\n\tskip_install_trust"
    (directory / "Caddyfile").write_text(f"{{\n\t{own}\n}}\n{text}")
    return made


def tidegate(here: Here, *words: str, said: str = "") -> str:
    """A command in the container of the service."""
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", *words],
        env=here.environment("tidegate")
        | {
            "TIDEGATE_STORE_DIRECTORY": str(here.directory / "data"),
            "TIDEGATE_SERVER_PORT": str(here.ports["tidegate:8080"]),
        },
        input=said,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def command_of_the_proxy(here: Here) -> list[str]:
    """The command in the Compose file, which writes a dollar sign twice."""
    return [here.placed(word).replace("$$", "$") for word in SERVICES["proxy"]["command"]]


@pytest.fixture(scope="module")
def proxied(here: Here) -> Iterator[Proxied]:
    """The site and its proxy, set up by the commands in the first lines of the Compose file."""
    (init,) = re.findall(r"^#   .* run --rm tidegate (init .*)$", TEXT, re.MULTILINE)
    words = shlex.split(here.placed(init))
    words += ["--email", "me@example.test", "--tenant", "Shop", "--password-stdin", "--json"]
    made = json.loads(tidegate(here, *words, said=f"{PASSWORD}\n"))
    token = tidegate(here, "operator", "token", "me@example.test").strip()
    site = shlex.split(here.placed(SERVICES["site"]["command"]))
    caddy = shutil.which("caddy")
    assert caddy, "the test needs caddy: apt-get install caddy"
    serve = [sys.executable, "-m", "tidegate", "serve"]
    store = {
        "TIDEGATE_STORE_DIRECTORY": str(here.directory / "data"),
        "TIDEGATE_SERVER_PORT": str(here.ports["tidegate:8080"]),
    }
    with ExitStack() as stack, (here.directory / "log").open("wb") as log:
        for command, environment in (
            (serve, here.environment("tidegate") | store),
            ([caddy, *site[1:]], here.environment("site")),
            (command_of_the_proxy(here), here.environment("proxy", TIDEGATE_KEY=made["api_key"])),
        ):
            started = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            stack.callback(started.wait)
            stack.callback(started.terminate)
        authority = here.directory / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        wait_until(lambda: listens(here.ports["tidegate:8080"]), PATIENCE)
        wait_until(lambda: listens(here.ports["site:8000"]), PATIENCE)
        for name in ("localhost:8443", "localhost:9443"):
            wait_until(lambda port=here.ports[name]: has_certificate(port, authority), PATIENCE)
        trusted = ssl.create_default_context(cafile=str(authority))
        clients = [
            stack.enter_context(
                httpx2.Client(
                    base_url=f"https://localhost:{here.ports[name]}",
                    verify=trusted,
                    timeout=PATIENCE,
                )
            )
            for name in ("localhost:8443", "localhost:9443")
        ]
        behind = Proxied(clients[0], clients[1], token, made["tenant_id"])
        document = {
            "apiVersion": "tidegate/v1",
            "tenant": {"name": "Shop", "tenant_id": made["tenant_id"]},
            **DEFINITIONS,
        }
        path = f"/api/v1/tenants/{made['tenant_id']}"
        bearer = {"authorization": f"Bearer {token}"}
        settings = behind.tidegate.get(path, headers=bearer).json()["settings"]
        document["settings"] = {"return_url_origins": settings["return_url_origins"]}
        saved = behind.tidegate.put(f"{path}/definitions", json=document, headers=bearer)
        assert saved.status_code == 200, saved.text
        yield behind


def test_an_allowed_request_reaches_the_site(proxied: Proxied) -> None:
    """All paths of the site are its own, those that Tidegate has at its address too."""
    for path in ("/anything", "/login", "/console/", "/api/v1/tenants"):
        assert proxied.site.get(path).text == "a small site"


def test_a_blocked_path_of_the_site_is_refused(proxied: Proxied) -> None:
    """The site is protected: a policy decides on its requests, with the visitor's address."""
    assert proxied.site.get(BLOCKED).status_code == 403
    bearer = {"authorization": f"Bearer {proxied.token}"}
    path = f"/api/v1/tenants/{proxied.tenant_id}/decisions?action=block&limit=1"
    (decision,) = proxied.tidegate.get(path, headers=bearer).json()
    assert (decision["path"], decision["client_ip"]) == (BLOCKED, "127.0.0.1")


def test_a_challenge_leads_to_a_page_behind_the_proxy(proxied: Proxied) -> None:
    """The page is at Tidegate's address, and a solved challenge returns to the site."""
    asked = proxied.site.get(CHALLENGED, headers=BROWSER)
    assert asked.status_code == 302
    place = asked.headers["location"]
    assert place.startswith(f"{proxied.tidegate.base_url}".rstrip("/"))
    page = proxied.tidegate.get(place, headers=BROWSER)
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    bearer = {"authorization": f"Bearer {proxied.token}"}
    path = f"/api/v1/tenants/{proxied.tenant_id}/decisions?action=challenge&limit=1"
    (found,) = proxied.tidegate.get(path, headers=bearer).json()
    path = f"/api/v1/tenants/{proxied.tenant_id}/decisions/{found['decision_id']}"
    assert proxied.tidegate.get(path, headers=bearer).json()["challenge_returns"] is True


def test_login_console_and_control_plane_are_at_their_address(proxied: Proxied) -> None:
    """The root leads to the console; an operator logs in; a stranger is refused by the service."""
    assert "Log in" in proxied.tidegate.get("/login").text
    root = proxied.tidegate.get("/")
    assert (root.status_code, root.headers["location"]) == (303, "/console/")
    console = proxied.tidegate.get("/console/")
    assert "site" not in console.text.partition("<title>")[2].partition("</title>")[0]
    body = {"email": "me@example.test", "password": PASSWORD}
    logged_in = proxied.tidegate.post("/api/v1/auth/local/token", json=body)
    bearer = {"authorization": f"Bearer {logged_in.json()['access_token']}"}
    assert proxied.tidegate.get("/api/v1/tenants", headers=bearer).status_code == 200
    refused = proxied.tidegate.get("/api/v1/tenants")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")


def test_the_proxy_does_not_start_without_the_key(here: Here) -> None:
    """Everybody would be refused; the message says which key is missing."""
    done = subprocess.run(
        command_of_the_proxy(here),
        env=here.environment("proxy"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "TIDEGATE_KEY: set it to the API key that `init --server` printed" in done.stderr


def test_the_container_of_the_service_publishes_no_port() -> None:
    """Visitors reach it by the proxy alone, whose ports are those of the Caddyfile."""
    assert "ports" not in SERVICES["tidegate"]
    ports = re.findall(r"https://localhost:(\d+)", (DEPLOY / "Caddyfile").read_text())
    assert SERVICES["proxy"]["ports"] == [f"127.0.0.1:{port}:{port}" for port in ports]
    targets = re.findall(
        r"(?:reverse_proxy|forward_auth) (\w+):", (DEPLOY / "Caddyfile").read_text()
    )
    assert SERVICES.keys() >= set(targets)
