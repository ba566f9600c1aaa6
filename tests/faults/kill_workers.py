"""Server workers killed under load: any of them, several, all of them, or all with their parent.

Each partition has one tenant, and each tenant its own load and its own comparison with an engine
that never stopped.  While a worker is away, the tenants of the others must not be refused,
and neither must its own where the next owner came in time: it is asked what was in flight.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import attrs
import click
import msgspec
from tests.faults.check import Checker
from tests.faults.load import Acknowledged, Call, Connection, send
from tests.faults.target import UNLIMITED, Target
from tests.faults.traffic import BEACON, Traffic, definitions

from tidegate_server.hot.batch import PATH as BATCH
from tidegate_server.partitions.worker import HOLD_SECONDS
from tidegate_server.stores.directory.lock import lock_path, read_holder

CONNECTIONS = 6
"""Of each tenant; each connection ends up at any of the workers."""
EARLIEST, LATEST = 0.1, 1.0
"""Seconds into the load."""
BATCH_CONNECTIONS = 1
"""Of each tenant, at the same time as the others."""
BATCH_CALLS = 6
AFTER_SECONDS = 0.5
"""How long the load goes on once all answer again."""
REPLAYED = 60
TAKEN = "calls that were asked before are taken"
WAIT_SECONDS = 180.0
"""Four workers that start together on two cores that others use have taken fifty seconds."""
SNAPSHOT_EVERY = 1_000
KINDS = ("one", "one", "some", "all", "parent")
"""The processes that die in a cycle: a worker, several, all, or all with their parent."""


@attrs.define
class Resident:
    """The tenant of a partition, and what came of its calls in this cycle."""

    partition: int
    tenant_id: str
    api_key: str
    checker: Checker
    acknowledged: list[Acknowledged] = attrs.field(factory=list)
    unknown: list[Call] = attrs.field(factory=list)
    refused: list[tuple[int, bytes]] = attrs.field(factory=list)
    total: int = 0


@attrs.define
class Run:
    """Cycles on one data directory."""

    target: Target
    seed: int
    residents: list[Resident]
    kills: int = 0
    restarts: int = 0
    refused: int = 0
    """Calls of a worker that was away for too long."""
    away: list[float] = attrs.field(factory=list)
    """Seconds from a kill until all partitions answered again."""

    @classmethod
    def make(cls, directory: Path, seed: int, workers: int) -> Run:
        """Start a server, with a tenant in each partition."""
        settings = {
            "TIDEGATE_STORE_SNAPSHOT_EVERY": str(SNAPSHOT_EVERY),
            "TIDEGATE_SERVER_WORKERS": str(workers),
            "TIDEGATE_WORKERS_PROCESSES": "1",
        }
        target = Target.make(directory / "data", directory / "log", settings)
        residents = [
            Resident(
                0,
                target.tenant_id,
                target.api_key,
                Checker(UUID(target.tenant_id), target.document),
            )
        ]
        for number in range(1, workers):
            name = f"Faults {number}"
            made = target.control("POST", "/tenants", {"name": name}).json()["tenant_id"]
            document = definitions(made, name, 0)
            target.control("PUT", f"/tenants/{made}/definitions", document)
            wanted = {"name": "load", "rate_limit_per_minute": UNLIMITED}
            key = target.control("POST", f"/tenants/{made}/api-keys", wanted).json()["key"]
            checker = Checker(UUID(made), document, partition=number)
            residents.append(Resident(number, made, key, checker))
        return cls(target, seed, residents)

    def cycle(self, number: int, kinds: Sequence[str]) -> None:
        """Load, kill, wait for the others and the replaced, compare.

        Args:
            number: of the cycle, from 0.
            kinds: one of which dies.

        Raises:
            AssertionError: a promise is broken.
        """
        draw = random.Random(self.seed * 1_000_003 + number)
        asyncio.run(self._load(draw, draw.choice(kinds)))
        for each in self.residents:
            asyncio.run(self._again(each, draw))
            each.total += len(each.acknowledged)
            self.refused += len(each.refused)
            each.checker.check(self.target.database, each.acknowledged)
            each.acknowledged, each.unknown, each.refused = [], [], []

    def close(self) -> None:
        """End the server, however it stands."""
        if self.target.process is not None and self.target.process.poll() is None:
            self.target.end(signal.SIGTERM)

    def owner(self, partition: int) -> int:
        """The process that owns a partition."""
        found = read_holder(lock_path(self.target.directory / f"tidegate-{partition}.db")).pid
        assert found is not None
        return found

    def asked_again(self) -> int:
        """Calls in flight at a death that the next owner was asked, as the owners logged it."""
        lines = [json.loads(each) for each in self.target.log.read_text().splitlines()]
        return sum(each["calls"] for each in lines if each["event"] == TAKEN)

    async def _load(self, draw: random.Random, kind: str) -> None:
        ending = asyncio.Event()
        loads = []
        for each in self.residents:
            calls = _calls(Traffic(draw.getrandbits(40)))
            sizes = [1] * CONNECTIONS + [BATCH_CALLS] * BATCH_CONNECTIONS
            sending = [self._send(each, calls, size, ending) for size in sizes]
            loads += [asyncio.create_task(one) for one in sending]
        await asyncio.sleep(draw.uniform(EARLIEST, LATEST))
        count = len(self.residents)
        victims = range(count)
        if kind in ("one", "some"):
            victims = draw.sample(victims, 1 if kind == "one" else draw.randint(1, count - 1))
        owners = {each: self.owner(each) for each in victims}
        killed_at = time.monotonic()
        if kind == "parent":
            self.restarts += 1
            ending.set()
            await asyncio.to_thread(self.target.end, signal.SIGKILL)
        for process in owners.values():
            self.kills += 1
            os.kill(process, signal.SIGKILL)
        if kind == "parent":
            await asyncio.gather(*loads)
            await asyncio.to_thread(_gone, list(owners.values()))
            await asyncio.to_thread(self.target.start)
        for each in self.residents:
            await self._answers(each)
        self.away.append(time.monotonic() - killed_at)
        if kind != "parent":
            await asyncio.sleep(AFTER_SECONDS)
            ending.set()
            await asyncio.gather(*loads)
        for each in self.residents:
            assert all(status == 503 for status, _ in each.refused), each.refused[-1]
            # A connection that its own worker had is lost; on any other one a call is answered.
            if each.partition not in victims or self.away[-1] < HOLD_SECONDS:
                assert not each.refused, f"partition {each.partition}: {each.refused[-1]}"

    async def _send(
        self, to: Resident, calls: Iterator[Call], size: int, ending: asyncio.Event
    ) -> None:
        """One connection after the other: who has it may be killed."""
        base_url = self.target.base_url
        connection = Connection(base_url, to.api_key)
        while not ending.is_set():
            sent = [next(calls) for _ in range(size)]
            if size > 1:
                sent = [attrs.evolve(call, path=BEACON) for call in sent]
            path, body = (sent[0].path, sent[0].body) if size == 1 else _batch(sent)
            try:
                status, headers, answer = await connection.post(path, body)
            except OSError:
                to.unknown += sent
                connection.close()
                await asyncio.sleep(0.01)
                continue
            items = _items(answer) if size > 1 and status == 200 else [(status, answer)] * size
            for call, (status, answer) in zip(sent, items, strict=True):
                if status == 200:
                    is_replayed = "idempotency-replayed" in headers
                    to.acknowledged.append(Acknowledged(call, answer, is_replayed))
                else:
                    to.unknown.append(call)
                    to.refused.append((status, answer))
            if status != 200:
                await asyncio.sleep(0.01)
        connection.close()

    async def _answers(self, of: Resident) -> None:
        """Wait until a partition decides again."""
        end = time.monotonic() + WAIT_SECONDS
        call = Call(*Traffic(time.time_ns()).next())
        while time.monotonic() < end:
            outcome = await send(self.target.base_url, of.api_key, [call], connections=1)
            if outcome.acknowledged:
                of.acknowledged += outcome.acknowledged
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"partition {of.partition} does not answer: {outcome.refused}")

    async def _again(self, of: Resident, draw: random.Random) -> None:
        """Send once more what was not answered, and some of what was."""
        address = self.target.base_url, of.api_key
        known = draw.sample(of.acknowledged, min(len(of.acknowledged), REPLAYED))
        known += of.acknowledged[-REPLAYED:]
        outcome = await send(*address, [made.call for made in known])
        assert not outcome.refused, outcome.refused
        assert not outcome.unknown
        answers = {made.call.key: made.answer for made in known}
        for made in outcome.acknowledged:
            assert made.is_replayed, f"{made.call.key} was decided again"
            assert made.answer == answers[made.call.key], f"{made.call.key} has another answer"
        later = await send(*address, of.unknown, connections=1)
        assert not later.refused, later.refused
        assert len(later.acknowledged) == len(of.unknown)
        of.acknowledged += later.acknowledged


def _calls(traffic: Traffic) -> Iterator[Call]:
    while True:
        yield Call(*traffic.next())


def _batch(calls: Sequence[Call]) -> tuple[str, bytes]:
    """Path and body of the batch of some events."""
    return BATCH, b"[%b]" % b",".join(call.body for call in calls)


def _items(answer: bytes) -> Iterator[tuple[int, bytes]]:
    """Status and answer of each event of a batch, each as if the event had come alone."""
    for item in map(bytes, msgspec.json.decode(answer, type=list[msgspec.Raw])):
        status: int = json.loads(item)["status"]
        yield status, item.replace(b'"status":%d,' % status, b"", 1)


def _gone(processes: list[int]) -> None:
    """Wait until processes are gone, whose parent is not this one."""
    end = time.monotonic() + WAIT_SECONDS
    while any(Path(f"/proc/{each}").exists() for each in processes):
        assert time.monotonic() < end, "a killed worker is still there"
        time.sleep(0.01)


def run(
    cycles: int, seed: int, workers: int, kinds: Sequence[Sequence[str]] = (KINDS,)
) -> tuple[Run, int]:
    """Run cycles in a temporary directory, one line each.

    Args:
        cycles: how many.
        seed: draws moments, events and what dies.
        workers: of the server.
        kinds: of which one dies, for each cycle; they are repeated.

    Returns:
        The run, and how many calls the next owner was asked again.

    Raises:
        AssertionError: a promise is broken; the message names the seed and the cycle.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-kill-workers-") as directory:
        click.echo(f"seed {seed}: {cycles} cycles, {workers} workers")
        made = Run.make(Path(directory), seed, workers)
        try:
            for number in range(cycles):
                made.cycle(number, kinds[number % len(kinds)])
                totals = [each.total for each in made.residents]
                click.echo(
                    f"  {number + 1}: {totals} acknowledged, {made.kills} killed,"
                    f" all answered after {made.away[-1]:.2f} s"
                )
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, cycle {number + 1}: {error}") from error
        finally:
            made.close()
        return made, made.asked_again()
