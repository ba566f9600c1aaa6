"""Random faults of nodes under load, and an oracle over the log that they leave.

Callers on many connections ask random nodes.  Half of the calls have an idempotency key and are
asked again until they are answered; the others are asked once, and the gateways alone see to it
that they are decided once.  Each event has a number in its path, by which the log is searched.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import orjson
from tests.faults.load import Connection
from tools.cluster import cluster
from tools.database_pair import pair
from tools.network import network

from tidegate_server.stores.databases import open_store
from tidegate_server.stores.decision_log import log

if TYPE_CHECKING:
    from tools.cluster import Cluster, Node
    from tools.network import Network

CONNECTIONS = 16
PACE_SECONDS = 0.2
"""Between two calls of a connection: the limit of the key is 100 a second."""
STALL_SECONDS = 5.0
"""Of stalls and cuts: longer than a silent node keeps its session."""
BETWEEN_SECONDS = 1.0
ANSWER_SECONDS = 10.0
"""A caller waits no longer: what was sent over a cut link may never arrive."""
PATH = "/api/v1/runtime/mitigation"
KINDS = ("kill the owner", "kill a gateway", "stall the owner", "stall a gateway")
CUTS = (
    "cut the owner off",
    "cut a gateway off",
    "cut the owner from the database",
    "cut a gateway from the database",
    "cut the owner from the other nodes",
)
"""The first word of a fault says what is done, the third to whom; of cuts the rest says where."""
FILL = "fill the disk of the database"
DISK_MIB = 1_024
PROMOTE = "kill the primary of the database"
"""The last fault of a run that has it: there isn't another standby afterwards."""


def kinds() -> tuple[str, ...]:
    """The kinds of faults that can be made here: only root can make networks and disks."""
    return (*KINDS, *CUTS, FILL) if os.geteuid() == 0 else KINDS


@attrs.define
class Answer:
    """A call that was answered with 200."""

    body: bytes
    key: str | None

    @property
    def decision_id(self) -> str:
        """Id of the decision."""
        return str(orjson.loads(self.body)["decision_id"])


@attrs.define
class Load:
    """Calls at random nodes until they are stopped.

    Attributes:
        pace: seconds between an answer and the next call of a connection.
        away: names of nodes that nobody asks, as if a load balancer had taken them out.
        answers: by the number of the event.
        refused: seconds that each answer of 503 took.
        unanswered: calls without a key that ended without an answer.
        lost: connections that were refused, or ended before an answer.
        longest: seconds that an answer took, at most.
    """

    made: Cluster
    draw: random.Random
    pace: float = PACE_SECONDS
    away: set[str] = attrs.field(factory=set)
    refused: list[float] = attrs.field(factory=list)
    answers: dict[int, Answer] = attrs.field(factory=dict)
    statuses: Counter[int] = attrs.field(factory=Counter)
    unanswered: int = 0
    lost: int = 0
    longest: float = 0.0
    last: float = 0.0
    longest_pause: float = 0.0
    is_over: bool = False
    _number: int = 0

    async def run(self) -> None:
        """Ask until :attr:`is_over`."""
        self.last = time.monotonic()
        await asyncio.gather(*(self._work() for _ in range(CONNECTIONS)))

    async def _work(self) -> None:
        while not self.is_over:
            await asyncio.sleep(self.pace)
            self._number += 1
            number = self._number
            key = f"call {number}" if self.draw.random() < 0.5 else None
            started = time.monotonic()
            while not await self._ask(number, key):
                if key is None:
                    self.unanswered += 1
                    break
                await asyncio.sleep(0.05)
            else:
                self.longest = max(self.longest, time.monotonic() - started)

    async def _ask(self, number: int, key: str | None) -> bool:
        nodes = [each for each in self.made.nodes.values() if each.name not in self.away]
        connection = Connection(self.draw.choice(nodes).base_url, self.made.demo.api_key)
        started = time.monotonic()
        try:
            asked = connection.post(PATH, event(number, key))
            status, _, body = await asyncio.wait_for(asked, ANSWER_SECONDS)
        except OSError:
            self.lost += 1
            return False
        finally:
            connection.close()
        self.statuses[status] += 1
        if status != 200:
            # Calls that piled up in a pause can pass the limit of the key.
            assert status in (429, 503), body
            if status == 503:
                self.refused.append(time.monotonic() - started)
            return False
        now = time.monotonic()
        self.longest_pause = max(self.longest_pause, now - self.last)
        self.last = now
        self.answers[number] = Answer(body, key)
        return True


def event(number: int, key: str | None) -> bytes:
    """The event of a number."""
    made: dict[str, object] = {
        "request": {
            "method": "GET",
            "path": f"/numbered/{number}",
            "host": "shop.example",
            "client_ip": "203.0.113.9",
        }
    }
    if key is not None:
        made["idempotency_key"] = key
    return orjson.dumps(made)


@attrs.define
class Report:
    """The result of a run."""

    faults: Counter[str]
    load: Load

    def __str__(self) -> str:
        found = ", ".join(f"{count} times {kind}" for kind, count in self.faults.items())
        load = self.load
        return (
            f"{found}: {len(load.answers)} acknowledged, none lost, none twice, none changed;"
            f" {load.unanswered} calls without a key had no answer; longest pause of all"
            f" {load.longest_pause:.2f} s, longest answer {load.longest:.2f} s"
        )


async def fault(made: Cluster, joined: Network | None, kind: str, draw: random.Random) -> None:
    """Do something to a node or the database, and return when all nodes are ready again."""
    if kind == PROMOTE:
        await asyncio.to_thread(made.databases.primary.kill)
        await asyncio.to_thread(made.databases.promote)
        await asyncio.sleep(BETWEEN_SECONDS)
    elif kind == FILL:
        with made.databases.full():
            await asyncio.sleep(STALL_SECONDS)
    else:
        await _node_fault(made, joined, kind, draw)
    await asyncio.to_thread(made.start_ended)
    await asyncio.to_thread(made.wait_until_ready)


async def _node_fault(
    made: Cluster, joined: Network | None, kind: str, draw: random.Random
) -> None:
    owner = await asyncio.to_thread(made.owner)
    others = [each for each in made.nodes.values() if each is not owner]
    what, _, whom, *where = kind.split()
    node: Node = owner if whom == "owner" else draw.choice(others)
    assert node.process is not None
    if what == "kill":
        await asyncio.to_thread(node.kill)
        await asyncio.sleep(draw.uniform(0, BETWEEN_SECONDS))
    elif what == "stall":
        node.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(STALL_SECONDS)
        node.process.send_signal(signal.SIGCONT)
    else:
        assert joined is not None
        assert node.machine is not None
        nodes = [each.host for each in made.nodes.values() if each is not node]
        lost = {
            "off": [*nodes, joined.address, joined.second_address],
            "from the database": [joined.second_address],
            "from the other nodes": nodes,
        }[" ".join(where)]
        with node.machine.cut_off(*lost):
            await asyncio.sleep(STALL_SECONDS)


@contextmanager
def _cluster(directory: Path, standby: str) -> Iterator[tuple[Cluster, Network | None]]:
    """A cluster whose nodes have machines of their own, where that can be."""
    with ExitStack() as stack:
        joined = databases = None
        if os.geteuid() == 0:
            joined = stack.enter_context(network(*"abc"))
            databases = pair(address=joined.second_address, callers=joined.range, disk_mib=DISK_MIB)
        made = cluster(directory, standby=standby, network=joined, databases_at=databases)
        yield stack.enter_context(made), joined


async def check_keys(made: Cluster, answers: dict[int, Answer], draw: random.Random) -> None:
    """Compare some answers with those that their keys have now, at whichever node.

    Raises:
        AssertionError: a key has another answer.
    """
    keyed = [(number, each) for number, each in answers.items() if each.key is not None]
    for number, known in draw.sample(keyed, min(len(keyed), 100)):
        node = draw.choice(list(made.nodes.values()))
        connection = Connection(node.base_url, made.demo.api_key)
        status, _, body = await connection.post(PATH, event(number, known.key))
        connection.close()
        assert (status, body) == (200, known.body), f"the key of {number} has two answers"


def check_log(url: str, answers: dict[int, Answer]) -> None:
    """Compare what was acknowledged with the log.

    Raises:
        AssertionError: a decision is lost, is there twice, or is another one.
    """
    found: dict[int, list[str]] = {}
    store = open_store(url, standby="none")
    try:
        with store.read() as connection:
            for line in log.scan(connection):
                if not line.is_decision:
                    continue
                decision = line.decision()
                path = orjson.loads(decision.event)["request"]["path"]
                number = int(path.removeprefix("/numbered/"))
                found.setdefault(number, []).append(str(decision.decision_id))
    finally:
        store.close()
    twice = {number: ids for number, ids in found.items() if len(ids) > 1}
    assert not twice, f"decided more than once: {twice}"
    lost = {number for number in answers if number not in found}
    assert not lost, f"acknowledged and not in the log: {lost}"
    for number, known in answers.items():
        assert found[number] == [known.decision_id], f"{number} is another decision"


def run(directory: Path, count: int, seed: int, *, promotes: bool = True) -> Report:
    """Run a cluster under faults, and compare.

    Args:
        directory: of the nodes.
        count: of faults.
        seed: draws faults and calls.
        promotes: whether the primary of the database is killed in the end.

    Raises:
        AssertionError: a promise is broken.
    """
    draw = random.Random(seed)
    # A promotion leaves no standby.
    standby = "none" if promotes else "required"
    with _cluster(directory, standby) as (made, joined):
        load = Load(made, random.Random(seed + 1))
        possible, done = kinds(), Counter[str]()

        async def work() -> None:
            loading = asyncio.create_task(load.run())
            try:
                for number in range(count):
                    # The first ones are one of each kind.
                    kind = possible[number] if number < len(possible) else draw.choice(possible)
                    done[kind] += 1
                    await asyncio.sleep(draw.uniform(0.2, BETWEEN_SECONDS))
                    await fault(made, joined, kind, draw)
                if promotes:
                    done[PROMOTE] += 1
                    await fault(made, joined, PROMOTE, draw)
                await asyncio.sleep(BETWEEN_SECONDS)
            finally:
                load.is_over = True
                await loading
            await check_keys(made, load.answers, draw)

        asyncio.run(work())
        made.stop()
        check_log(made.url, load.answers)
    return Report(done, load)
