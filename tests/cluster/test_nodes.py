"""Three nodes over one database: each answers any call, also while the owner changes."""

from __future__ import annotations

import signal
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2 as httpx
import msgspec
import orjson
import psycopg
import pytest
from tests.cluster.calling import calling
from tools import plain_http
from tools.cluster import Cluster, cluster
from uuid_utils import uuid7

from tidegate_server.connection.handshakes import MOST_UNFINISHED
from tidegate_server.framing import framed
from tidegate_server.nodes.certificate import contexts
from tidegate_server.operators.keys import load_keys
from tidegate_server.owners.messages import (
    Answered,
    Asked,
    Batch,
    HandedOn,
    Hello,
    Message,
    Outcome,
    Outcomes,
    Standing,
    decode,
    encode,
)
from tidegate_server.settings.bounds import split_address
from tidegate_server.stores.directory.claims import MEMBERS, session_name

if TYPE_CHECKING:
    from tools.cluster import Node

pytestmark = pytest.mark.usefixtures("postgresql")
WAIT_SECONDS = 60
EVENT: dict[str, Any] = {
    "request": {
        "method": "GET",
        "path": "/products",
        "host": "shop.example",
        "client_ip": "203.0.113.9",
    }
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, postgresql: None) -> Iterator[Cluster]:
    """A cluster for all tests here, each of which leaves three nodes."""
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def control(made: Cluster, node: Node, path: str) -> httpx.Response:
    """A GET of the control plane at a node."""
    return plain_http.get(
        f"{node.base_url}/api/v1/tenants/{made.demo.tenant_id}/{path}",
        headers={"authorization": f"Bearer {made.demo.owner_token}"},
        timeout=30,
    )


def has_followed(owner: Node) -> bool:
    """Whether an owner had the states when it became one."""
    told = [orjson.loads(line) for line in owner.log.read_bytes().splitlines()]
    terms = [each for each in told if each["event"] == "this node is the owner"]
    return bool(terms[-1]["followed"])


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
        proxy = plain_http.get(
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
        assert plain_http.get(f"{node.base_url}/healthz").json() == {"status": "ok"}
        missing = plain_http.get(f"{node.base_url}/nothing")
        assert missing.json()["code"] == "not-found"


def test_a_killed_owner_is_replaced_while_callers_go_on(made: Cluster) -> None:
    """No node needs a restart; what was answered before is answered again, with the same bytes."""
    owner = made.owner()
    keyed = {**EVENT, "idempotency_key": "before the kill"}
    first = made.decide(owner, keyed)
    made.wait_until_level()
    owner.kill()
    made.wait_until_ready()
    for node in made.nodes.values():
        if node is not owner:
            again = made.decide(node, keyed)
            assert again.content == first.content
            assert again.headers["idempotency-replayed"] == "true"
    assert made.owner() is not owner
    assert has_followed(made.owner())
    owner.start()
    made.wait_until_ready()
    assert made.decide(owner, keyed).content == first.content


def test_a_stop_hands_over_and_callers_wait(made: Cluster) -> None:
    """While the owner stops on SIGTERM, a call at another node waits for the next owner."""
    owner = made.owner()
    node = made.others()[0]
    assert owner.process is not None
    made.wait_until_level()
    with calling(made, node, 4) as calls:
        owner.process.send_signal(signal.SIGTERM)
        assert owner.process.wait(60) == 0
        made.wait_until_ready()
    assert made.owner() is not owner
    assert has_followed(made.owner())
    calls.require_hold()
    owner.start()
    made.wait_until_ready()


@pytest.mark.parametrize("is_owner", [False, True], ids=["a-gateway", "the-owner"])
def test_a_daemon_that_waits_for_changes_is_answered_at_a_stop(
    made: Cluster, is_owner: bool
) -> None:
    """Its call neither holds the node until the drain's end, nor ends as an error."""
    node = made.owner() if is_owner else made.others()[0]
    assert node.process is not None
    made.wait_until_level()
    logged = node.log.stat().st_size
    place = urlsplit(node.base_url)
    lines = (
        "GET /api/v1/sync/changes?wait=60 HTTP/1.1",
        f"host: {place.netloc}",
        f"x-service-api-key: {made.demo.sync_api_key}",
    )
    with socket.create_connection((place.hostname, place.port), timeout=90) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        # The loop reads in the order of arrival.
        for _ in range(2):
            assert plain_http.get(f"{node.base_url}/healthz").status_code == 200
        node.process.send_signal(signal.SIGTERM)
        with connection.makefile("rb") as answer:
            assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
    assert node.process.wait(60) == 0
    assert b'"level":"error"' not in node.log.read_bytes()[logged:]
    node.start()
    made.wait_until_ready()


def test_an_owner_that_stalls_is_replaced_and_answers_nothing_more(made: Cluster) -> None:
    """Another node ends its session and decides; once awake the stalled one forwards its calls."""
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


def test_a_node_whose_session_was_lost_waits_for_its_name(made: Cluster) -> None:
    """It goes on, though the database holds the name a while for a session that nobody is at."""
    node = made.others()[0]
    process = node.process
    name = "(%s, hashtext(%s))"
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with (
        psycopg.connect(made.url, autocommit=True) as dead,
        psycopg.connect(made.url, autocommit=True) as database,
        ThreadPoolExecutor(1) as pool,
    ):
        taking = pool.submit(dead.execute, f"SELECT pg_advisory_lock{name}", (MEMBERS, node.name))
        while database.execute(locks).fetchone() == (0,):
            time.sleep(0.02)
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
            [session_name(node.name)],
        )
        taking.result(WAIT_SECONDS)
        while "this node waits for its name" not in node.log.read_text():
            assert node.runs, node.log.read_text()[-1000:]
            time.sleep(0.02)
    with psycopg.connect(made.url, autocommit=True) as database:
        query = f"SELECT pg_try_advisory_lock{name}"
        while database.execute(query, (MEMBERS, node.name)).fetchone() == (True,):
            database.execute(f"SELECT pg_advisory_unlock{name}", (MEMBERS, node.name))
            time.sleep(0.02)
    made.wait_until_ready()
    assert made.decide(node, EVENT).status_code == 200
    assert node.process is process
    assert node.runs


def test_an_owner_whose_session_ends_is_replaced_while_callers_go_on(made: Cluster) -> None:
    """Its process lives, and it owns the log again or forwards calls; keys have their answers."""
    owner, node = made.owner(), made.others()[0]
    made.wait_until_level()
    keyed = {**EVENT, "idempotency_key": "before the session ended"}
    first = made.decide(owner, keyed)
    assert first.status_code == 200
    with psycopg.connect(made.url, autocommit=True) as database:
        term = database.execute("SELECT term FROM cluster_partitions").fetchone()
        with calling(made, node, 2) as calls:
            database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s",
                [session_name(owner.name)],
            )
            while database.execute("SELECT term FROM cluster_partitions").fetchone() == term:
                time.sleep(0.02)
            made.wait_until_ready()
    calls.require_hold()
    for each in made.nodes.values():
        assert each.runs
        assert made.decide(each, keyed).content == first.content
        assert control(made, each, "policies").status_code == 200


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
        assert link.recv(1) == b""


def test_silent_strangers_do_not_keep_nodes_apart(made: Cluster) -> None:
    """The port for nodes closes the oldest of many silent connections, and takes a node's."""
    with psycopg.connect(made.url) as connection:
        found = connection.execute("SELECT address FROM cluster_members").fetchall()
    with ExitStack() as stack:
        for (address,) in found:
            silent = [
                stack.enter_context(socket.create_connection(split_address(address), timeout=30))
                for _ in range(MOST_UNFINISHED + 40)
            ]
            assert silent[0].recv(1) == b""
        assert Fellow(made, 1, 1).is_welcome()
        for node in made.nodes.values():
            assert made.decide(node, EVENT).status_code == 200


class Fellow:
    """A gateway that speaks to the owner as it likes, with the keys that nodes share."""

    def __init__(self, made: Cluster, run: int, link: int) -> None:
        owner = made.owner()
        with psycopg.connect(made.url) as connection:
            found = connection.execute(
                "SELECT address FROM cluster_members WHERE name = %s", (owner.name,)
            ).fetchone()
        assert found is not None
        _, calling = contexts(load_keys(owner.directory / "keys").pepper)
        raw = socket.create_connection(split_address(found[0]), timeout=30)
        self._link = calling.wrap_socket(raw)
        self._link.sendall(framed(encode(Hello("fellow", run, link))))
        self._api_key = made.demo.api_key.encode()
        self._number = 0

    def is_welcome(self) -> bool:
        """Whether the owner says that it takes calls."""
        return self._read() == Standing(is_owner=True)

    def ask(self, name: bytes, target: bytes, body: bytes, *, is_repeated: bool) -> Answered:
        """Hand a call on, and wait for its answer."""
        self.send(name, target, body, is_repeated=is_repeated)
        return self.answer()

    def send(
        self, name: bytes, target: bytes, body: bytes, *, is_repeated: bool, term: int = 0
    ) -> None:
        """Hand a call on."""
        headers = [(b"x-service-api-key", self._api_key), (b"content-type", b"application/json")]
        asked = Asked("POST", target, headers, body, ("203.0.113.1", 1), "http")
        call = HandedOn(name, is_repeated, asked)
        self._number += 1
        self._link.sendall(framed(encode(Batch("hot", self._number, [call], term))))

    def answer(self) -> Answered:
        """The next answer."""
        outcome = self.outcome()
        assert outcome.refusal == ""
        assert outcome.answer is not None
        return outcome.answer

    def outcome(self) -> Outcome:
        """The outcome of the next call."""
        outcomes = self._read()
        assert isinstance(outcomes, Outcomes)
        return outcomes.outcomes[0]

    def send_raw(self, message: object) -> None:
        """Send what may be no message of this version."""
        self._link.sendall(framed(msgspec.msgpack.encode(message)))

    def is_ended(self) -> bool:
        """Whether the owner has ended the link."""
        try:
            return self._link.recv(1) == b""
        except OSError:
            return True

    def close(self) -> None:
        """End the link."""
        self._link.close()

    def _read(self) -> Message:
        size = int.from_bytes(self._exactly(4))
        return decode(self._exactly(size))

    def _exactly(self, size: int) -> bytes:
        read = b""
        while len(read) < size:
            part = self._link.recv(size - len(read))
            assert part, "the link ended"
            read += part
        return read


@pytest.mark.parametrize(
    ("target", "body"),
    [
        (b"/api/v1/runtime/mitigation", orjson.dumps(EVENT)),
        (b"/api/v1/beacon/event", orjson.dumps(EVENT)),
        (b"/api/v1/beacon/events", orjson.dumps([EVENT, EVENT, EVENT])),
    ],
)
def test_a_call_that_is_asked_again_is_decided_once(
    made: Cluster, target: bytes, body: bytes
) -> None:
    """Under its id it gets the recorded answer, without an idempotency key of the caller."""
    fellow = Fellow(made, 1, 1)
    assert fellow.is_welcome()
    name = uuid7().bytes
    first = fellow.ask(name, target, body, is_repeated=False)
    again = fellow.ask(name, target, body, is_repeated=True)
    assert (first.status, again.status) == (200, 200)
    assert again.body == first.body
    other = fellow.ask(uuid7().bytes, target, body, is_repeated=True)
    assert other.status == 200
    assert other.body != first.body
    fellow.close()


def test_a_call_that_is_asked_twice_at_once_is_decided_once(made: Cluster) -> None:
    """The second one waits for the outcome of the first."""
    fellow = Fellow(made, 2, 1)
    assert fellow.is_welcome()
    name, body = uuid7().bytes, orjson.dumps(EVENT)
    for is_repeated in (False, True):
        fellow.send(name, b"/api/v1/runtime/mitigation", body, is_repeated=is_repeated)
    assert fellow.answer().body == fellow.answer().body
    fellow.close()


def test_a_call_for_the_owner_of_another_term_is_not_taken(made: Cluster) -> None:
    """An owner refuses a call for another term, since it may have been decided elsewhere."""
    with psycopg.connect(made.url) as connection:
        found = connection.execute("SELECT term FROM cluster_partitions").fetchone()
    assert found is not None
    fellow = Fellow(made, 4, 1)
    assert fellow.is_welcome()
    target, body = b"/api/v1/runtime/mitigation", orjson.dumps(EVENT)
    for term, refusal in ((found[0] + 1, "not-owner"), (found[0], ""), (found[0] + 2, "not-owner")):
        fellow.send(uuid7().bytes, target, body, is_repeated=False, term=term)
        assert fellow.outcome().refusal == refusal
    fellow.close()


def test_a_message_of_a_newer_version_ends_its_link_alone(made: Cluster) -> None:
    """The log says why, and the owner goes on; what is new in a known message is not read."""
    fellow = Fellow(made, 5, 1)
    assert fellow.is_welcome()
    fellow.send_raw(["later", 1])
    assert fellow.is_ended()
    said = [orjson.loads(line) for line in made.owner().log.read_bytes().splitlines()]
    ended = [each for each in said if "one of a newer version" in each["event"]]
    assert [(each["peer"], "later" in each["reason"]) for each in ended] == [("fellow", True)]
    longer = Fellow(made, 5, 2)
    assert longer.is_welcome()
    longer.send_raw(["batch", "hot", 1, [], 0, "later"])
    body = orjson.dumps(EVENT)
    answer = longer.ask(uuid7().bytes, b"/api/v1/runtime/mitigation", body, is_repeated=False)
    assert answer.status == 200
    longer.close()
    fellow.close()


def test_a_new_link_ends_the_one_before(made: Cluster) -> None:
    """Copies of calls that wait in an earlier link come to nothing."""
    later, earlier = Fellow(made, 3, 2), None
    assert later.is_welcome()
    try:
        earlier = Fellow(made, 3, 1)
        assert earlier.is_ended()
        newest = Fellow(made, 3, 3)
        assert newest.is_welcome()
        assert later.is_ended()
        newest.close()
    finally:
        later.close()
        if earlier is not None:
            earlier.close()
