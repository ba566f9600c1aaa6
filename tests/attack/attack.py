"""The common part of all attacks, and the process they run in."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import ClassVar

import attrs
import uvloop
from tests.attack.served import World
from tests.faults.load import Connection

NICENESS = 10
"""Attackers share the machine with the server, and come after it."""


@attrs.frozen
class Scale:
    """The size of attacks."""

    policies: int = 200
    rules: int = 10_000
    entries: int = 100_000
    connections: int = 40
    logins: int = 400
    headers: int = 200
    header_bytes: int = 4 * 2**20
    pipelined_bytes: int = 15 * 2**20
    batch: int = 1_000
    most_events: int = 400_000
    rounds: int = 100
    upgrades: int = 500
    guesses: int = 60
    slow_bodies: int = 16
    visitors: int = 400
    throttle: float = 60.0
    """Seconds past the attack in which a connection that reads nothing has to be closed; none:
    its end is not waited for."""


FULL = Scale()
SHORT = Scale(
    policies=20,
    rules=100,
    entries=1_000,
    connections=8,
    logins=20,
    headers=20,
    header_bytes=2 * 2**20,
    pipelined_bytes=2 * 2**20,
    batch=200,
    most_events=10_000,
    rounds=3,
    upgrades=50,
    guesses=30,
    slow_bodies=4,
    visitors=8,
    throttle=0.0,
)


@attrs.define
class Outcome:
    """The outcome of an attack.

    Attributes:
        statuses: how often each came; ``gone`` for connections that ended before an answer.
        broken: sentences, each about one thing that does not hold.
        notes: what else there is to say.
        seconds: of processor that the attackers took.
    """

    statuses: Counter[str] = attrs.field(factory=Counter)
    broken: list[str] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)
    seconds: float = 0.0

    def require(self, holds: bool, otherwise: str) -> None:
        """Note what does not hold."""
        if not holds and otherwise not in self.broken:
            self.broken.append(otherwise)

    def add(self, other: Outcome) -> None:
        """Count another attack's outcome with this one's."""
        self.statuses += other.statuses
        self.broken += other.broken
        self.notes += other.notes


class Attack(ABC):
    """One attack: made by :meth:`set_up`, sent to another process, and run there.

    Attributes:
        isolates: whether the lines about the other tenant and ``/healthz`` are judged.
        bounds_growth: whether memory is judged, after the attack.
        bounds_peak: whether it is judged during the attack as well.
    """

    name: ClassVar[str]
    what: ClassVar[str]
    isolates: ClassVar[bool] = True
    bounds_growth: ClassVar[bool] = False
    bounds_peak: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def set_up(cls, world: World, scale: Scale) -> Attack:
        """Make what the attack needs, by calls that anybody in its role may make.

        Raises:
            RuntimeError: the server refuses it.
        """

    @abstractmethod
    async def run(self, until: float) -> Outcome:
        """Attack until a time of the monotonic clock, or until the attack is done."""


def encoded(method: str, path: str, body: bytes = b"", token: str = "", api_key: str = "") -> bytes:
    """A whole request."""
    lines = [f"{method} {path} HTTP/1.1", "host: attack"]
    if token:
        lines.append(f"authorization: Bearer {token}")
    if api_key:
        lines.append(f"x-service-api-key: {api_key}")
    if body:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def hammer(
    base_url: str,
    requests: Sequence[bytes],
    connections: int,
    until: float,
    most: int = 1_000_000,
    seen: Callable[[int, bytes], None] = lambda status, body: None,
) -> Outcome:
    """Send requests one after the other on each of several connections until the time is up.

    Args:
        most: calls altogether.
        seen: called with the status and body of each answer.
    """
    outcome = Outcome()
    remaining: Iterable[bytes] = itertools.islice(itertools.cycle(requests), most)

    async def work() -> None:
        connection = Connection(base_url, "")
        try:
            for request in remaining:
                try:
                    status, _, body = await connection.exchange(request)
                except (OSError, TimeoutError, asyncio.LimitOverrunError):
                    outcome.statuses["gone"] += 1
                    connection.close()
                    await asyncio.sleep(0.05)
                else:
                    outcome.statuses[str(status)] += 1
                    seen(status, body)
                if time.monotonic() > until:
                    return
        finally:
            with suppress(OSError):
                connection.close()

    await asyncio.gather(*(work() for _ in range(connections)))
    return outcome


def run_apart(attacks: Sequence[Attack], seconds: float) -> list[Outcome]:
    """Run attacks at the same time, in this process, which comes after all others."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)

    async def together() -> list[Outcome]:
        until = time.monotonic() + seconds
        outcomes = await asyncio.gather(*(each.run(until) for each in attacks))
        # An attack that is soon over is also judged by what it leaves behind.
        await asyncio.sleep(until - time.monotonic())
        return list(outcomes)

    before = _processor()
    outcomes = uvloop.run(together())
    outcomes[0].seconds = _processor() - before
    return outcomes


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
