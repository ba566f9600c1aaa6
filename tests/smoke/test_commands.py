"""One command of each family, as a process, on files and against a running service."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import resources
from pathlib import Path

import pytest
from tests.hybrid.running import daemon, end, service, tidegate
from tests.service.service_process import Service
from tests.smoke.conftest import Command
from tests.waiting import wait_until

SAMPLES = resources.files("tidegate.samples")
DEFINITIONS, TRAFFIC = str(SAMPLES / "definitions.yaml"), str(SAMPLES / "traffic.jsonl.gz")
LOG = '192.0.2.7 - - [02/Mar/2026:10:00:00 +0000] "GET /?q=<script> HTTP/1.1" 404 5 "-" "curl/8"\n'


def test_the_version_is_printed(command: Command) -> None:
    """`--version` says what is installed."""
    assert re.fullmatch(r"tidegate.* \d+\.\d+\.\d+\n", command("--version"))


def test_a_document_is_checked(command: Command) -> None:
    """Good definitions are counted; a bad expression ends with 1."""
    assert "5 policies" in command("check", DEFINITIONS)
    command("check", "-e", "request.pth", code=1)


def test_an_expression_is_formatted(command: Command) -> None:
    """`fmt` prints the one form of an expression."""
    assert command("fmt", "-", stdin='request.path=="/a"').strip() == 'request.path == "/a"'


def test_an_expression_is_evaluated(command: Command) -> None:
    """`eval` prints the value for each event."""
    said = command("eval", "request.path", "-", stdin='{"request": {"path": "/a"}}\n')
    assert "/a" in said


def test_a_log_is_decided_and_explained(command: Command) -> None:
    """Lines of an access log have answers, each with its reasons."""
    assert "block" in command("decide", DEFINITIONS, TRAFFIC, "--summary")
    assert "block" in command("explain", DEFINITIONS, "-", stdin=LOG)


def test_a_code_is_explained(command: Command) -> None:
    """`explain-code` lists every code."""
    assert "unknown-field" in command("explain-code")


def test_the_demonstration_runs(command: Command) -> None:
    """`demo` decides the bundled traffic."""
    assert "events" in command("demo")


def test_settings_are_shown(command: Command) -> None:
    """`config` prints the settings and their meaning."""
    assert "server" in command("config", "show")
    assert "store" in command("config", "schema")


def test_a_first_server_is_made_and_verified(command: Command) -> None:
    """`init --server`, `operator`, `migrate` and `verify` work on one directory."""
    place = ("--store-directory", "data")
    made = command(
        "init", "--server", "--email", "me@example.test", "--tenant", "Shop", "--no-password",
        *place, "--json",
    )  # fmt: skip
    assert json.loads(made)["tenant"] == "shop"
    assert "me@example.test" in command("operator", "list", *place)
    command("migrate", *place)
    command("verify", *place)


def test_a_running_service_is_asked(command: Command, service: Service) -> None:
    """`healthcheck`, `tenant`, `api-key`, `export` and `apply` speak to a service."""
    to = ("--url", service.base_url, "--token", service.owner_token)
    tenant = ("--tenant", "example-shop")
    command("healthcheck", "--url", service.base_url)
    assert "example-shop" in command("tenant", "list", *to)
    assert "demo" in command("api-key", "list", *to, *tenant).lower()
    document = command("export", *to, *tenant)
    command("apply", "-", *to, *tenant, "--dry-run", stdin=document)


def test_a_daemon_decides_at_a_site(smoke: None, tmp_path: Path) -> None:
    """A daemon follows a service, decides there, and forwards what it decided."""
    with service(tmp_path) as origin, daemon(origin, tmp_path) as (site, _):
        answers = [site.decide("/.env", "192.0.2.9")["action"]["type"] for _ in range(3)]
        assert answers == ["allow", "allow", "block"]
        wait_until(lambda: len(origin.decisions("/.env")) == 3)


def test_an_access_log_is_captured(smoke: None, tmp_path: Path) -> None:
    """`capture` makes a request of each line that a log gets."""
    log = tmp_path / "access.log"
    log.touch()
    source = ("--source", "access-log", "--file", str(log), "--dry-run")
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(
            tidegate, "capture", "run", *source, environment={}, log=tmp_path / "errors"
        )
        while not starting.done():
            with log.open("a") as lines:
                lines.write(LOG)
            wait([starting], timeout=0.1)
        capture, request = starting.result()
    end(capture)
    assert request["request"]["path"] == "/"


@pytest.mark.parametrize("name", ["check", "serve", "capture", "cluster", "sync", "status"])
def test_each_family_has_help(command: Command, name: str) -> None:
    """`--help` prints what a command does."""
    assert f"tidegate {name}" in command(name, "--help")
