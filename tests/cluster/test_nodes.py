"""Three nodes over one database: each answers any call, also while the owner changes."""

from __future__ import annotations

import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx2 as httpx
import psycopg
import pytest
from tools.cluster import Cluster, cluster
from tools.database_pair import NEEDED, programs

from tidegate.setting_bounds import split_address

if TYPE_CHECKING:
    from tools.cluster import Node

pytestmark = pytest.mark.skipif(
    programs() is None, reason=f"PostgreSQL {NEEDED} or newer is not installed"
)
EVENT: dict[str, Any] = {
    "request": {
        "method": "GET",
        "path": "/products",
        "host": "shop.example",
        "client_ip": "203.0.113.9",
    }
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster for all tests here, each of which leaves three nodes."""
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def control(made: Cluster, node: Node, path: str) -> httpx.Response:
    """A GET of the control plane at a node."""
    return httpx.get(
        f"{node.base_url}/api/v1/tenants/{made.demo.tenant_id}/{path}",
        headers={"authorization": f"Bearer {made.demo.owner_token}"},
        timeout=30,
    )


def test_each_node_answers_every_call(made: Cluster) -> None:
    """Hot calls, batches, proxies, the control plane and pages have the same answers anywhere."""
    keyed = {**EVENT, "idempotency_key": "everywhere"}
    first = made.decide(made.owner(), keyed)
    assert first.status_code == 200
    for node in made.nodes.values():
        again = made.decide(node, keyed)
        assert again.content == first.content
        batch = made.decide(node, [EVENT, EVENT, {"request": 1}], "beacon/events")
        assert [each["status"] for each in batch.json()] == [200, 200, 422]
        proxy = httpx.get(
            f"{node.base_url}/authz",
            headers={
                "x-service-api-key": made.demo.api_key,
                "x-forwarded-method": "GET",
                "x-forwarded-host": "shop.example",
                "x-forwarded-uri": "/products?q=1",
                "x-forwarded-for": "203.0.113.9",
                "x-forwarded-proto": "https",
            },
        )
        assert proxy.status_code == 200, proxy.text
        assert control(made, node, "policies").content == (
            control(made, made.owner(), "policies").content
        )
        refused = made.decide(node, [])
        assert refused.json()["code"] == made.decide(made.owner(), []).json()["code"]
        assert httpx.get(f"{node.base_url}/healthz").json() == {"status": "ok"}
        missing = httpx.get(f"{node.base_url}/nothing")
        assert missing.json()["code"] == "not-found"


def test_a_killed_owner_is_replaced_while_callers_go_on(made: Cluster) -> None:
    """No node needs a restart; what was answered before is answered again, with the same bytes."""
    owner = made.owner()
    keyed = {**EVENT, "idempotency_key": "before the kill"}
    first = made.decide(owner, keyed)
    owner.kill()
    made.wait_until_ready()
    for node in made.nodes.values():
        if node is not owner:
            again = made.decide(node, keyed)
            assert again.content == first.content
            assert again.headers["idempotency-replayed"] == "true"
    assert made.owner() is not owner
    owner.start()
    made.wait_until_ready()
    assert made.decide(owner, keyed).content == first.content


def test_a_stop_hands_over_and_refuses_nobody(made: Cluster) -> None:
    """While the owner stops on SIGTERM, each call at another node is answered with 200."""
    owner = made.owner()
    node = made.others()[0]
    statuses: list[int] = []
    over = threading.Event()

    def load() -> None:
        while not over.is_set():
            statuses.append(made.decide(node, EVENT).status_code)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert owner.process is not None
    owner.process.send_signal(signal.SIGTERM)
    assert owner.process.wait(60) == 0
    made.wait_until_ready()
    over.set()
    for thread in threads:
        thread.join(60)
    assert made.owner() is not owner
    assert set(statuses) == {200}
    owner.start()
    made.wait_until_ready()


def test_an_owner_that_stalls_is_replaced_and_answers_nothing_more(made: Cluster) -> None:
    """After its lease another one decides; once awake the stalled one hands its calls on."""
    owner = made.owner()
    assert owner.process is not None
    owner.process.send_signal(signal.SIGSTOP)
    try:
        node = next(each for each in made.nodes.values() if each is not owner)
        keyed = {**EVENT, "idempotency_key": "while it stalls"}
        answers = [made.decide(node, keyed)]
        while answers[-1].status_code == 503:
            answers.append(made.decide(node, keyed))
        assert answers[-1].status_code == 200
        assert made.owner() is not owner
    finally:
        owner.process.send_signal(signal.SIGCONT)
    made.wait_until_ready()
    assert made.decide(owner, keyed).content == answers[-1].content


def test_strangers_cannot_speak_as_a_node(made: Cluster) -> None:
    """The port for nodes takes nobody who does not have the key."""
    with psycopg.connect(made.url) as connection:
        found = connection.execute("SELECT address FROM cluster_members").fetchone()
    assert found is not None
    stranger = ssl.create_default_context()
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(split_address(found[0]), timeout=10) as raw,
        stranger.wrap_socket(raw) as link,
        suppress(ssl.SSLError),
    ):
        # To a fellow node it says first whether it is the owner.
        assert link.recv(1) == b""
