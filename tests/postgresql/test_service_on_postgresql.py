"""The service on PostgreSQL: carried over from SQLite, taken over by a second node, fenced."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import attrs
import httpx2 as httpx
import psycopg
import pytest
from click.testing import CliRunner
from tests.service.service_process import start, stop
from tools import plain_http
from tools.database_pair import Pair, pair

from tidegate.cli.main import tidegate
from tidegate_server.demo import make_demo, make_owner
from tidegate_server.directory.opening import StrayPartError, open_directory
from tidegate_server.directory.verification import Verification
from tidegate_server.stores.sqlite import SqliteStore

EVENT: dict[str, Any] = {
    "request": {
        "method": "GET",
        "path": "/.env",
        "host": "shop.example",
        "client_ip": "203.0.113.9",
    }
}
DECISIONS = 40
HOUR = timedelta(hours=1)
PERIOD = {
    "since": (datetime.now(UTC) - HOUR).isoformat(),
    "until": (datetime.now(UTC) + HOUR).isoformat(),
}
"""The period of the timeline; its usual one moves on every quarter of an hour."""
OF_THE_MOMENT = (
    "challenge/self-test",
    "entities/{entity_id}/state",
    "tenants/{tenant_id}/status",
)
"""The answers of these are made anew by each call, slide with time, or are of the process."""
PARAMETER = re.compile(r"{(\w+)}")
NAMED = re.compile(r'"(\w+_id)":\s*"([0-9a-f-]{36})"')
INTERFACE = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text())


@attrs.frozen
class Place:
    """A service with data, which was stopped and carried over."""

    directory: Path
    url: str
    tenant_id: str
    api_key: str
    token: str
    answers: dict[str, tuple[int, bytes]]
    first: bytes
    """The answer to the key `first`."""


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Pair]:
    """A primary and its synchronous standby."""
    with pair() as made:
        yield made


def gets(base_url: str, tenant_id: str, token: str) -> dict[str, tuple[int, bytes]]:
    """The answer of each GET of the interface, as bytes; objects are those that lists name."""
    found: dict[str, tuple[int, bytes]] = {}
    ids = {"tenant_id": tenant_id, "version": "1"}
    paths = [path for path, calls in INTERFACE["paths"].items() if "get" in calls]
    for path in sorted(paths, key=lambda each: (each.count("{"), each)):
        if not path.startswith("/api/v1/tenants") or not set(PARAMETER.findall(path)) <= set(ids):
            continue
        answer = plain_http.get(
            base_url + path.format_map(ids),
            params=PERIOD if path.endswith("/timeline") else None,
            headers={"authorization": f"Bearer {token}"},
            timeout=30,
        )
        found[path] = answer.status_code, answer.content if answer.is_success else b""
        for name, value in NAMED.findall(answer.text):
            ids.setdefault(name, value)
    return found


def decide(base_url: str, api_key: str, key: str) -> httpx.Response:
    """A hot call under an idempotency key."""
    return plain_http.post(
        f"{base_url}/api/v1/runtime/mitigation",
        json={**EVENT, "idempotency_key": key},
        headers={"x-service-api-key": api_key},
        timeout=30,
    )


@pytest.fixture(scope="module")
def place(postgresql: Pair, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A service that decided on SQLite, and what it answered; its data is in PostgreSQL then."""
    directory = tmp_path_factory.mktemp("carried") / "data"
    keys = open_directory(directory)
    store = SqliteStore(f"sqlite:///{directory / 'tidegate.db'}")
    token = make_owner(store, keys)
    store.close()
    log = directory.parent / "log"
    process, said = start("--store-directory", str(directory), log=log)
    try:
        demo = make_demo(said["base_url"], token)
        first = decide(said["base_url"], demo.api_key, "first")
        for number in range(1, DECISIONS):
            assert decide(said["base_url"], demo.api_key, str(number)).status_code == 200
    finally:
        stop(process)
    # A stop notes when keys were used.
    process, said = start("--store-directory", str(directory), log=log)
    try:
        answers = gets(said["base_url"], demo.tenant_id, token)
    finally:
        stop(process)
    url = postgresql.url(postgresql.new_database())
    source = f"sqlite:///{directory / 'tidegate.db'}"
    carried = CliRunner().invoke(tidegate, ["migrate", "--from", source, "--to", url])
    assert carried.exit_code == 0, carried.output + str(carried.exception)
    return Place(
        directory,
        url,
        demo.tenant_id,
        demo.api_key,
        token,
        answers,
        first.raise_for_status().content,
    )


def copy_keys(place: Place, to: Path) -> Path:
    """A directory of a second node, as an operator makes it."""
    to.mkdir(mode=0o700)
    copytree(place.directory / "keys", to / "keys")
    copy(place.directory / "identity", to)
    return to


def test_a_service_goes_on_in_postgresql_and_on_a_second_node(place: Place, tmp_path: Path) -> None:
    """Each GET has the same bytes after the move; windows and keys go on when a node is killed."""
    known = {"TIDEGATE_STORE_URL": place.url}
    one, said = start(
        "--store-directory", str(place.directory), log=tmp_path / "one", environment=known
    )
    second = copy_keys(place, tmp_path / "second")
    two = None
    try:
        answers = gets(said["base_url"], place.tenant_id, place.token)
        assert {path: status for path, (status, _) in answers.items()} == {
            path: status for path, (status, _) in place.answers.items()
        }
        assert len(answers) > 30
        different = {
            path: (answer, place.answers[path])
            for path, answer in answers.items()
            if answer != place.answers[path] and not path.endswith(OF_THE_MOMENT)
        }
        assert not different, str(different)
        again = decide(said["base_url"], place.api_key, "first")
        assert again.content == place.first
        assert again.headers["idempotency-replayed"] == "true"
        on_one = decide(said["base_url"], place.api_key, "on one")
        assert on_one.json()["action"]["type"] == "block", "the mitigation went on"
        serve = [sys.executable, "-m", "tidegate", "serve", "--json", "--server-port", "0"]
        serve += ["--store-directory", str(second)]
        variables = {**os.environ, **known}
        refused = subprocess.run(serve, capture_output=True, env=variables, text=True, check=False)
        assert refused.returncode == 1
        assert "belongs to process" in refused.stderr
        two = subprocess.Popen(
            [*serve, "--wait-for-lock"],
            stdout=subprocess.PIPE,
            stderr=(tmp_path / "two").open("wb"),
            env=variables,
        )
        while b"waiting" not in (tmp_path / "two").read_bytes():
            assert two.poll() is None
        one.kill()
        assert two.stdout is not None
        took_over = json.loads(two.stdout.readline())["base_url"]
        for key, expected in (("first", place.first), ("on one", on_one.content)):
            again = decide(took_over, place.api_key, key)
            assert again.content == expected
            assert again.headers["idempotency-replayed"] == "true"
        on_two = decide(took_over, place.api_key, "on two")
        assert on_two.json()["action"]["type"] == "block", "the mitigation went on"
        assert plain_http.get(f"{took_over}/readyz").status_code == 200
        made = Verification(second, url=place.url)
        assert list(made.findings()) == []
        assert made.decisions == DECISIONS + 2
        fence(place, took_over, two, tmp_path / "two")
    finally:
        for each in (one, two):
            if each is not None:
                each.kill()


def fence(place: Place, base_url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Once another owner has begun an epoch, the one before answers no 2xx, and ends with 1."""
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute("UPDATE partitions SET epoch = epoch + 1")
    # Whatever else the owner writes ends it, too, so it may be gone before it is asked.
    with suppress(httpx.TransportError):
        assert decide(base_url, place.api_key, "after the fence").status_code == 503
    assert process.wait(60) == 1
    assert "another process became the owner of the log" in log.read_text()
    assert "postgres@" not in log.read_text()


def test_a_directory_of_another_database_is_refused(place: Place, tmp_path: Path) -> None:
    """Directory, keys and database belong together by their identity, wherever the database is."""
    other = tmp_path / "other"
    open_directory(other)
    with pytest.raises(StrayPartError, match="is of directory"):
        open_directory(other, url=place.url)
    with pytest.raises(StrayPartError, match="keys` is missing"):
        open_directory(tmp_path / "empty", url=place.url)
