"""Two nodes that each decide for some of the tenants, over one database."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import parse_headers
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import httpx2 as httpx
import orjson
import psycopg
import pytest
import yaml
from click.testing import CliRunner
from tests.cluster.calling import calling
from tests.server.partitions.workers import handed_on
from tools.cluster import EVENT, READY_SECONDS, Cluster, Node, cluster

from tidegate.cli.main import tidegate
from tidegate_server.demo import Demo

pytestmark = pytest.mark.usefixtures("postgresql")


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Return when something is so."""
    until = time.monotonic() + READY_SECONDS
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def told_of(node: Node, event: str, partition: int) -> list[dict[str, Any]]:
    """Lines of a node's log about a partition."""
    told = [orjson.loads(line) for line in node.log.read_bytes().splitlines()]
    return [each for each in told if (each["event"], each.get("partition")) == (event, partition)]


class World:
    """The nodes, and a tenant in each partition."""

    def __init__(self, made: Cluster) -> None:
        self.made = made
        second = second_tenant(made.nodes["a"].base_url, made.demo.owner_token)
        self.tenants = [made.demo, second]
        self.settle()

    def settle(self) -> None:
        """Return when both nodes own one, and follow the other."""
        self.made.wait_until_ready()
        wait_until(self._is_shared_out, "the nodes do not share the partitions")
        self.made.wait_until_level()
        for number in range(2):
            for node in self.made.nodes.values():
                wait_until(
                    lambda number=number, node=node: self.decide(number, node).status_code == 200,
                    f"partition {number} is not decided for at {node.name}",
                )

    def _is_shared_out(self) -> bool:
        return {self.made.owner(each).name for each in range(2)} == set(self.made.nodes)

    def decide(self, number: int, node: Node, **more: Any) -> httpx.Response:
        """A hot call of the tenant in a partition, at a node."""
        return httpx.post(
            f"{node.base_url}/api/v1/runtime/mitigation",
            content=orjson.dumps({**EVENT, **more}),
            headers={
                "x-service-api-key": self.tenants[number].api_key,
                "content-type": "application/json",
            },
            timeout=30,
        )

    def control(self, number: int, node: Node, path: str) -> httpx.Response:
        """A GET of the control plane for the tenant in a partition, at a node."""
        demo = self.tenants[number]
        return httpx.get(
            f"{node.base_url}/api/v1/tenants/{demo.tenant_id}/{path}",
            headers={"authorization": f"Bearer {demo.owner_token}"},
            timeout=30,
        )


def second_tenant(base_url: str, token: str) -> Demo:
    """A further tenant with the demonstration's definitions."""
    sample = resources.files("tidegate.samples").joinpath("definitions.yaml").read_text()
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{base_url}/api/v1", headers=headers, timeout=30) as api:
        tenant_id = api.post("/tenants", json={"name": "Second"}).json()["tenant_id"]
        document = yaml.safe_load(sample)
        document["tenant"] = {"name": "Second", "tenant_id": tenant_id}
        path = f"/tenants/{tenant_id}"
        put = api.put(f"{path}/definitions", json=document)
        assert put.status_code == 200, put.text
        key = api.post(f"{path}/api-keys", json={"name": "second"}).json()["key"]
    return Demo(base_url, tenant_id, key, "", token)


@contextmanager
def changing(world: World, node: Node) -> Iterator[list[httpx.Response]]:
    """Ask a node, while the block runs, what cannot be asked twice, of the first partition."""
    answers: list[httpx.Response] = []
    over = threading.Event()
    demo = world.tenants[0]

    def ask() -> None:
        path = f"/api/v1/tenants/{demo.tenant_id}/expressions/check"
        headers = {"authorization": f"Bearer {demo.owner_token}"}
        body = {"expression": "1 == 1"}
        answers.append(httpx.post(f"{node.base_url}{path}", json=body, headers=headers, timeout=30))

    def ask_on() -> None:
        while not over.is_set():
            ask()

    threads = [threading.Thread(target=ask_on) for _ in range(4)]
    for each in threads:
        each.start()
    try:
        yield answers
    finally:
        over.set()
        for each in threads:
            each.join(60)
    ask()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, postgresql: None) -> Iterator[World]:
    """Two nodes and two partitions; each test leaves a node with one of them."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TIDEGATE_METRICS_PUBLIC", "all")
        with cluster(tmp_path_factory.mktemp("cluster"), "ab", partitions=2) as running:
            yield World(running)


def test_each_node_answers_for_every_tenant(world: World) -> None:
    """Decisions, their search and definitions are the same at the owner and at the other node."""
    for number in range(2):
        answers = [
            world.decide(number, node, idempotency_key=f"everywhere {number}")
            for node in world.made.nodes.values()
        ]
        assert [each.status_code for each in answers] == [200, 200]
        assert answers[0].content == answers[1].content
        for path in ("decisions", "policies"):
            found = [world.control(number, node, path) for node in world.made.nodes.values()]
            assert [each.status_code for each in found] == [200, 200], found[0].text
            assert found[0].content == found[1].content
        key = world.tenants[number].api_key[:-1] + "_"
        refused = [
            httpx.post(
                f"{node.base_url}/api/v1/runtime/mitigation",
                json=EVENT,
                headers={"x-service-api-key": key},
            ).status_code
            for node in world.made.nodes.values()
        ]
        assert refused == [401, 401]


def test_a_call_at_the_owner_is_handed_to_nobody(world: World) -> None:
    """The owner decides a call of a key that it has seen at once; the other node hands it on."""
    for number in range(2):
        owner = world.made.owner(number)
        (other,) = [each for each in world.made.nodes.values() if each is not owner]
        assert world.decide(number, owner).status_code == 200
        before = handed_on(owner.base_url, number)
        for node, handed in ((owner, 0), (other, 5)):
            assert {world.decide(number, node).status_code for _ in range(5)} == {200}
            assert handed_on(owner.base_url, number) == before + handed


def test_one_connection_gets_the_answers_of_all_partitions_in_order(world: World) -> None:
    """Calls that were sent ahead, of both tenants and of nobody, are answered as they were sent."""
    node = world.made.nodes["a"]
    order = [0, 1, None, 0, 0, 1, 1, None, 1, 0] * 4
    sent = b""
    for at, number in enumerate(order):
        key = "nobody" if number is None else world.tenants[number].api_key
        sent += hot_call(key, {**EVENT, "idempotency_key": f"in order {at}"}, f"call-{at}")
    with connected(node) as (connection, answers):
        connection.sendall(sent)
        for at, number in enumerate(order):
            status, body = read_answer(answers, f"call-{at}")
            assert status == (401 if number is None else 200)
            if number is not None:
                again = world.decide(number, node, idempotency_key=f"in order {at}")
                assert again.content == body
                assert again.headers["idempotency-replayed"] == "true"


@contextmanager
def connected(node: Node) -> Iterator[tuple[socket.socket, BinaryIO]]:
    """A connection to a node, and what it answers."""
    address = urlsplit(node.base_url)
    with (
        socket.create_connection((address.hostname, address.port), 30) as connection,
        connection.makefile("rb") as answers,
    ):
        yield connection, answers


def hot_call(api_key: str, event: dict[str, Any], request_id: str) -> bytes:
    """A hot call as it is sent."""
    body = orjson.dumps(event)
    head = (
        "POST /api/v1/runtime/mitigation HTTP/1.1\r\nhost: tidegate\r\n"
        f"x-service-api-key: {api_key}\r\ncontent-type: application/json\r\n"
        f"x-request-id: {request_id}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def read_answer(answers: BinaryIO, request_id: str) -> tuple[int, bytes]:
    """Status and body of the next answer, which has to be of a request."""
    status = int(answers.readline().split()[1])
    headers = parse_headers(answers)
    assert headers["x-request-id"] == request_id
    return status, answers.read(int(headers["content-length"]))


def test_figures_are_those_of_all_owners(world: World) -> None:
    """The page of metrics at any node has each partition, by its number."""
    for node in world.made.nodes.values():
        page = httpx.get(f"{node.base_url}/metrics").text
        for number in range(2):
            assert f'partition="{number}"' in page


def test_what_a_command_says_of_partitions(world: World) -> None:
    """The owner and the follower of each; a partition is named, and is there."""
    arguments = ["--store-url", world.made.url]
    status = CliRunner().invoke(tidegate, ["cluster", "status", "--json", *arguments])
    document = orjson.loads(status.output)
    assert [each["partition"] for each in document["partitions"]] == [0, 1]
    for each in document["partitions"]:
        assert {each["owner"], each["follower"]} == {"a", "b"}
        assert each["is_level"]
        assert each["tenants"] == 1
    shown = CliRunner().invoke(tidegate, ["cluster", "status", *arguments])
    assert shown.exit_code == 0, shown.output
    assert shown.output.count(" level ") == 2
    shown_last = [line.split()[-1] for line in shown.output.splitlines() if " level " in line]
    assert shown_last == ["1", "1"]
    unnamed = CliRunner().invoke(tidegate, ["cluster", "move", "a", *arguments])
    assert "name one with `--partition`" in str(unnamed.exception)
    missing = ["cluster", "move", "a", "--partition", "7", *arguments]
    assert "there is no partition 7; there are 0, 1" in str(
        CliRunner().invoke(tidegate, missing).exception
    )


def test_the_logs_of_all_partitions_are_verified(world: World) -> None:
    """A line of the second partition that was changed is found, and is well once it is put back."""
    for number in range(2):
        assert world.decide(number, world.made.nodes["a"]).status_code == 200
    directory = world.made.nodes["a"].directory
    arguments = ["verify", "--store-url", world.made.url, "--store-directory", str(directory)]
    well = CliRunner().invoke(tidegate, arguments)
    assert well.exit_code == 0, well.output
    row = "WHERE first_seq = (SELECT max(first_seq) FROM partition_1.decision_log)"
    with psycopg.connect(world.made.url, autocommit=True) as connection:
        flip = f"UPDATE partition_1.decision_log SET checksum = ~ checksum {row}"
        connection.execute(flip)
        assert CliRunner().invoke(tidegate, arguments).exit_code == 1
        connection.execute(flip)
    assert CliRunner().invoke(tidegate, arguments).exit_code == 0


def test_one_process_alone_is_refused(world: World, tmp_path: Path) -> None:
    """A service without a name would leave all but the first partition to nobody."""
    databases = world.made.databases
    arguments = ["--store-url", databases.url(databases.new_database("alone"))]
    arguments += ["--store-directory", str(tmp_path), "--store-partitions", "2"]
    made = CliRunner().invoke(tidegate, ["migrate", *arguments])
    assert made.exit_code == 0, made.output
    alone = CliRunner().invoke(tidegate, ["serve", *arguments])
    assert alone.exit_code != 0
    assert "has 2 partitions" in str(alone.exception) + alone.output


def test_a_death_leaves_the_other_partition_alone(world: World) -> None:
    """Its tenant is answered by the node that goes on, which takes the dead one's over, with the
    answers that were given; and a node that comes back gets its share again."""
    made = world.made
    dead, alive = made.owner(1), made.owner(0)
    first = world.decide(1, alive, idempotency_key="before the death")
    assert first.status_code == 200
    before = len(told_of(alive, "this node is no owner", 0))
    with calling(made, alive, 2) as calls:
        dead.kill()
        wait_until(lambda: made.owner(1) is alive, "nobody takes over")
        wait_until(lambda: world.decide(1, alive).status_code == 200, "nobody decides")
    assert {answer.status_code for answer, _ in calls.answers} == {200}
    again = world.decide(1, alive, idempotency_key="before the death")
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert told_of(alive, "this node is the owner", 1)[-1]["followed"]
    assert len(told_of(alive, "this node is no owner", 0)) == before
    dead.start()
    world.settle()
    assert world.decide(1, dead, idempotency_key="before the death").content == first.content


def test_partitions_change_places_while_callers_go_on(world: World) -> None:
    """A partition that is moved to a node is followed by another one the other way; each call and
    each change gets its answer, also a call whose body comes after the owner has changed."""
    made = world.made
    target, former = made.owner(1), made.owner(0)
    ended = len(told_of(former, "this node is no owner", 0))
    call = hot_call(world.tenants[0].api_key, EVENT, "late")
    with (
        calling(made, target, 2) as calls,
        changing(world, target) as changes,
        connected(former) as (connection, answers),
    ):
        connection.sendall(call[:-5])
        arguments = ["cluster", "move", target.name, "--partition", "0", "--store-url", made.url]
        moved = CliRunner().invoke(tidegate, arguments)
        assert moved.exit_code == 0, moved.output + str(moved.exception)
        wait_until(lambda: len(told_of(former, "this node is no owner", 0)) > ended, "it owns on")
        connection.sendall(call[-5:])
        assert read_answer(answers, "late")[0] == 200
        world.settle()
    calls.require_hold()
    assert made.owner(0) is target
    assert changes[0].status_code == changes[-1].status_code == 200
    for each in changes:
        assert each.status_code == 200 or "no node decides" in each.text, each.text


def test_a_drained_node_hands_over_all_of_its_partitions(world: World) -> None:
    """It ends with 0, and the other node answers for both."""
    made = world.made
    leaving = made.owner(0)
    (other,) = [each for each in made.nodes.values() if each is not leaving]
    with calling(made, other, 2) as calls:
        drained = CliRunner().invoke(
            tidegate, ["cluster", "drain", leaving.name, "--store-url", made.url]
        )
    assert drained.exit_code == 0, drained.output + str(drained.exception)
    calls.require_hold()
    assert leaving.process is not None
    assert leaving.process.wait(60) == 0
    assert made.owner(0) is made.owner(1) is other
    for number in range(2):
        assert world.decide(number, other).status_code == 200
    leaving.start()
    world.settle()
