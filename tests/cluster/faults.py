"""Random faults of nodes under load, and an oracle over the log that they leave.

Callers on many connections ask random nodes.  Half of the calls have an idempotency key and are
asked again until they are answered; the others are asked once, and the gateways alone see to it
that they are decided once.  Each event has a number in its path, by which the log is searched.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import orjson
from tests.faults.load import Connection
from tools.cluster import cluster

from tidegate.stores import open_store
from tidegate.stores.decision_log import log

if TYPE_CHECKING:
    from tools.cluster import Cluster, Node

CONNECTIONS = 16
PACE_SECONDS = 0.2
"""Between two calls of a connection: the limit of the key is 100 a second."""
STALL_SECONDS = 5.0
BETWEEN_SECONDS = 1.0
PATH = "/api/v1/runtime/mitigation"
KINDS = ("kill the owner", "kill a gateway", "stall the owner", "stall a gateway")
PROMOTE = "kill the primary of the database"
"""The last fault of a run that has it: there is no other standby afterwards."""


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
        answers: by the number of the event.
        unanswered: calls without a key that ended without an answer.
        longest: seconds that an answer took, at most.
    """

    made: Cluster
    draw: random.Random
    answers: dict[int, Answer] = attrs.field(factory=dict)
    statuses: Counter[int] = attrs.field(factory=Counter)
    unanswered: int = 0
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
            await asyncio.sleep(PACE_SECONDS)
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
        node = self.draw.choice(list(self.made.nodes.values()))
        connection = Connection(node.base_url, self.made.demo.api_key)
        try:
            status, _, body = await connection.post(PATH, event(number, key))
        except OSError:
            return False
        finally:
            connection.close()
        self.statuses[status] += 1
        if status != 200:
            assert status == 503, body
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
    """What a run found."""

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


async def fault(made: Cluster, kind: str, draw: random.Random) -> None:
    """Do something to a node or the database, and return when all nodes are ready again."""
    if kind == PROMOTE:
        await asyncio.to_thread(made.databases.primary.kill)
        await asyncio.to_thread(made.databases.promote)
        await asyncio.sleep(BETWEEN_SECONDS)
        await asyncio.to_thread(made.wait_until_ready)
        return
    owner = await asyncio.to_thread(made.owner)
    others = [each for each in made.nodes.values() if each is not owner]
    node: Node = owner if kind.endswith("owner") else draw.choice(others)
    assert node.process is not None
    if kind.startswith("kill"):
        await asyncio.to_thread(node.kill)
        await asyncio.sleep(draw.uniform(0, BETWEEN_SECONDS))
        await asyncio.to_thread(node.start)
    else:
        node.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(STALL_SECONDS)
        node.process.send_signal(signal.SIGCONT)
    await asyncio.to_thread(made.wait_until_ready)


async def _again(made: Cluster, answers: dict[int, Answer], draw: random.Random) -> None:
    """Each key has its first answer, at whichever node."""
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
    # After a promotion there is no standby.
    with cluster(directory, standby="none" if promotes else "required") as made:
        load = Load(made, random.Random(seed + 1))
        kinds = Counter[str]()

        async def work() -> None:
            loading = asyncio.create_task(load.run())
            try:
                for number in range(count):
                    # The first ones are one of each kind.
                    kind = KINDS[number] if number < len(KINDS) else draw.choice(KINDS)
                    kinds[kind] += 1
                    await asyncio.sleep(draw.uniform(0.2, BETWEEN_SECONDS))
                    await fault(made, kind, draw)
                if promotes:
                    kinds[PROMOTE] += 1
                    await fault(made, PROMOTE, draw)
                await asyncio.sleep(BETWEEN_SECONDS)
            finally:
                load.is_over = True
                await loading
            await _again(made, load.answers, draw)

        asyncio.run(work())
        made.stop()
        check_log(made.url, load.answers)
    return Report(kinds, load)
