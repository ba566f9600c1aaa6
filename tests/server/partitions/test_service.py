"""A service of two workers: one port, two partitions, and no caller sees the difference."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import attrs
import httpx2 as httpx
import pytest
from sqlalchemy import func, select
from tests.faults.target import Target
from tests.faults.traffic import definitions
from tests.server.partitions.workers import AtWorker, handed_on, owner_of
from tools import plain_http

from tidegate_server.stores.directory.partitions import partitions_of
from tidegate_server.stores.rows.connections import partition_path, reading_engine
from tidegate_server.stores.rows.tables import decision_log, tenants

WAIT_SECONDS = 60.0
EVENT = {"request": {"method": "GET", "path": "/", "client_ip": "203.0.113.5"}}


@attrs.frozen
class World:
    """A service, and a tenant in each of its partitions, by partition."""

    target: Target
    tenants: list[str]
    keys: list[str]

    def hot(self, partition: int, event: dict[str, Any], **headers: str) -> httpx.Response:
        """A hot call on a connection of its own, which either worker may have."""
        return plain_http.post(
            f"{self.target.base_url}/api/v1/runtime/mitigation",
            json=event,
            headers={"x-service-api-key": self.keys[partition], **headers},
            timeout=30,
        )

    def decisions(self, partition: int) -> list[dict[str, Any]]:
        """The newest decisions of a tenant."""
        path = f"/tenants/{self.tenants[partition]}/decisions?limit=100"
        found: list[dict[str, Any]] = self.target.control("GET", path).json()
        return found

    def owner(self, partition: int) -> int:
        """The process that owns a partition."""
        return owner_of(self.target.directory, partition)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[World]:
    """A service of two workers."""
    place = tmp_path_factory.mktemp("partitions")
    settings = {"TIDEGATE_SERVER_WORKERS": "2", "TIDEGATE_METRICS_PUBLIC": "all"}
    target = Target.make(place / "data", place / "log", settings)
    second = target.control("POST", "/tenants", {"name": "Second"}).json()["tenant_id"]
    target.control("PUT", f"/tenants/{second}/definitions", definitions(second, "Second", 1))
    wanted = {"name": "load", "rate_limit_per_minute": 100_000}
    key = target.control("POST", f"/tenants/{second}/api-keys", wanted).json()["key"]
    yield World(target, [target.tenant_id, second], [target.api_key, key])
    target.end(signal.SIGTERM)


@pytest.mark.parametrize("partition", [0, 1])
def test_a_call_is_answered_on_any_connection(world: World, partition: int) -> None:
    """Whichever worker has the connection, the owner decides, and the answer comes back."""
    before = len(world.decisions(partition))
    for number in range(8):
        answer = world.hot(partition, EVENT, **{"x-request-id": f"request-{number}"})
        assert answer.status_code == 200
        assert answer.headers["x-request-id"] == f"request-{number}"
    assert len(world.decisions(partition)) == before + 8


@pytest.mark.parametrize("partition", [0, 1])
def test_a_key_is_answered_once_on_any_connection(world: World, partition: int) -> None:
    """An idempotency key finds the first answer, wherever the call comes in."""
    event = {**EVENT, "idempotency_key": f"once-{partition}"}
    answers = [world.hot(partition, event) for _ in range(6)]
    assert len({each.content for each in answers}) == 1
    replayed = [each.headers.get("idempotency-replayed") for each in answers]
    assert replayed == [None, *["true"] * 5]


def test_new_tenants_go_to_the_partition_with_fewest(world: World) -> None:
    """The second tenant lives in the second partition, and its log is in that file alone."""
    assert world.hot(1, EVENT).status_code == 200
    database = world.target.database
    assert partitions_of(database) == [0, 1]
    engine = reading_engine(database)
    with engine.connect() as connection:
        placed = connection.execute(select(tenants.c.tenant_id, tenants.c.partition_id)).all()
        assert {str(each): partition for each, partition in placed} == {
            world.tenants[0]: 0,
            world.tenants[1]: 1,
        }
        logged = connection.execute(select(decision_log.c.tenant_id).distinct()).scalars()
        assert [str(each) for each in logged] in ([], [world.tenants[0]])
    engine.dispose()
    beside = reading_engine(database, 1)
    with beside.connect() as connection:
        count = connection.execute(select(func.sum(decision_log.c.count))).scalar()
        assert count is not None
        assert count >= 1
    beside.dispose()
    assert partition_path(database, 1).stat().st_mode & 0o077 == 0


def test_limits_are_the_same_through_any_connection(world: World) -> None:
    """A key with sixty events a minute has a burst of six, though two workers take its calls."""
    path = f"/tenants/{world.tenants[1]}/api-keys"
    wanted = {"name": "limited", "rate_limit_per_minute": 60}
    key = world.target.control("POST", path, wanted).json()["key"]
    url = f"{world.target.base_url}/api/v1/runtime/mitigation"
    started = time.monotonic()
    answers = [
        plain_http.post(url, json=EVENT, headers={"x-service-api-key": key}) for _ in range(40)
    ]
    most = 6 + 1 + (time.monotonic() - started)
    assert 6 <= sum(each.status_code == 200 for each in answers) <= most
    refused = next(each for each in answers if each.status_code != 200)
    assert refused.status_code == 429
    assert refused.json()["code"] == "rate-limited"
    assert int(refused.headers["retry-after"]) > 0


def test_figures_are_those_of_all_workers(world: World) -> None:
    """The page of metrics has the samples of each, with its partition as a label."""
    assert world.hot(0, EVENT).status_code == world.hot(1, EVENT).status_code == 200
    for _ in range(4):
        page = plain_http.get(f"{world.target.base_url}/metrics").text
        for partition in (0, 1):
            assert f'tidegate_decisions_total{{partition="{partition}",action="allow"' in page
            assert f'tidegate_partition_answered{{partition="{partition}"}} 1\n' in page
        assert page.count("# TYPE tidegate_decisions_total") == 1


def test_calls_that_were_handed_on_are_counted(world: World) -> None:
    """A call counts at its owner where another worker has the connection, and nowhere else."""
    url = world.target.base_url
    headers = {"x-service-api-key": world.keys[1]}
    for partition, handed in ((1, 0), (0, 3)):
        before = handed_on(url, 1)
        with httpx.Client(transport=AtWorker(url, world.owner(partition))) as caller:
            for _ in range(3):
                path = f"{url}/api/v1/runtime/mitigation"
                assert caller.post(path, json=EVENT, headers=headers).status_code == 200
        assert handed_on(url, 1) == before + handed


def test_a_worker_that_dies_is_replaced(world: World) -> None:
    """Its partition goes on; the other one is not refused meanwhile."""
    event = {**EVENT, "idempotency_key": "before-the-end"}
    first = world.hot(1, event)
    assert first.status_code == 200
    before = world.owner(1)
    os.kill(before, signal.SIGKILL)
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            assert world.hot(0, EVENT).status_code == 200
        except httpx.TransportError:
            continue  # the connection was the dead worker's
        try:
            again = world.hot(1, event)
        except httpx.TransportError:
            continue
        if again.status_code == 200:
            break
        assert again.status_code == 503
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert world.owner(1) not in (before, world.owner(0))
