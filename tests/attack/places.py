"""Item 36 of the attacks: slow bodies to every route that asks for no credential."""

from __future__ import annotations

import asyncio
import itertools
import json
import resource
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded
from tests.attack.control import login
from tests.attack.expectations import PLACE_SAMPLES, QUIET_TIMES
from tests.attack.served import PASSWORD, TRUSTED_PROXY, World
from tests.faults.load import Connection
from tests.faults.traffic import RUNTIME

from tidegate_server.routing.route import Credential
from tidegate_server.routing.routes import ROUTES

ADDRESSES = [f"127.0.0.{number}" for number in range(20, 36)]
NETWORK = "2001:db8:bad:1"
"""One IPv6 network of 64 bits, which a trusted proxy names as that of its clients."""
TRICKLE_SECONDS = 1.0
PAUSE_SECONDS = 0.05
"""Between two calls of an operator, a visitor, or somebody who logs in: ordinary use."""
FILES = 4_096
DOOR = "/places"
SITE = "https://shop.example"
DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "mitigations": [{"name": "Ask", "mode": "Challenge", "challenge": {"difficulty": 1}}],
    "policies": [
        {
            "name": "Door",
            "expression": f'request.path == "{DOOR}"',
            "clauses": [{"name": "any", "mitigation": "ask"}],
        }
    ],
}


def heads() -> list[str]:
    """The heads of requests of every route that takes a body from anybody."""
    return [
        f"{route.method} {route.paths[0].format_map(dict.fromkeys(route.parameters, uuid4()))}"
        f" HTTP/1.1\r\nhost: attack\r\ncontent-type: {route.media_types[0]}\r\n"
        for route in ROUTES
        if route.credential is not Credential.OPERATOR and route.body is not None and route.handler
    ]


@attrs.define
class Seen:
    """The answers of one kind of caller: milliseconds, and the statuses of failures."""

    took: list[float] = attrs.field(factory=list)
    refused: Counter[str] = attrs.field(factory=Counter)

    def at(self, share: float) -> float:
        """The quantile of the milliseconds."""
        found = sorted(self.took)
        return found[min(int(len(found) * share), len(found) - 1)] if found else 0.0


@attrs.frozen
class Places(Attack):
    """Slow bodies from many addresses, and through a proxy from one network."""

    name = "places"
    what = "slow bodies to every route without a credential, from 16 addresses and one /64"
    bounds_peak = True

    base_url: str
    callers: dict[str, tuple[bytes, ...]]
    """Requests of an operator, of visitors, and of somebody who logs in."""
    each: int
    """Connections of one address to one route; all of the network have as many as all addresses."""

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Places:
        tenant, person = world.tenant("Places"), world.people["Analyst"]
        owner = tenant.tokens["Owner"]
        world.must(owner, "PUT", f"{tenant.path}/definitions", DEFINITIONS)
        settings = {"challenge_wait_seconds": 1, "return_url_origins": [SITE]}
        world.must(owner, "PATCH", tenant.path, {"settings": settings})
        key = world.key(tenant)
        solutions = [_solution(world, key, number) for number in range(scale.visitors)]
        callers = {
            "operator": (encoded("GET", f"{tenant.path}/policies", token=owner),),
            "visitors": tuple(solutions),
            "login": (login(person.email, PASSWORD),),
        }
        return cls(world.base_url, callers, scale.slow_bodies)

    async def run(self, until: float) -> Outcome:
        outcome = Outcome()
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
        middle = (time.monotonic() + until) / 2
        solutions = iter(self.callers["visitors"])
        half = len(self.callers["visitors"]) // 2
        quiet = await self._use(itertools.islice(solutions, half), middle)
        slow = [asyncio.create_task(each) for each in self._slow(outcome.statuses)]
        attacked = await self._use(solutions, until)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        for name, before in quiet.items():
            self._judge(outcome, name, before, attacked[name])
        return outcome

    def _judge(self, outcome: Outcome, name: str, quiet: Seen, attacked: Seen) -> None:
        refused = dict(attacked.refused)
        outcome.require(not refused, f"{name}: refused {refused} while bodies were slow")
        outcome.require(bool(attacked.took), f"{name}: no answer while bodies were slow")
        usual, now = quiet.at(0.99), attacked.at(0.99)
        outcome.notes.append(f"{name} p99 {usual:.0f} > {now:.0f} ms")
        is_enough = min(len(quiet.took), len(attacked.took)) >= PLACE_SAMPLES
        outcome.require(
            not is_enough or now <= QUIET_TIMES * usual,
            f"{name}: p99 {usual:.0f} ms, {now:.0f} ms while bodies were slow",
        )

    async def _use(self, solutions: Iterator[bytes], until: float) -> dict[str, Seen]:
        """Work as an operator, solve challenges and log in, until a time and at least once."""
        seen = {name: Seen() for name in self.callers}
        await asyncio.gather(
            self._ask(seen["operator"], itertools.cycle(self.callers["operator"]), until),
            self._ask(seen["visitors"], solutions, until),
            self._ask(seen["login"], itertools.cycle(self.callers["login"]), until),
        )
        return seen

    async def _ask(self, seen: Seen, requests: Iterator[bytes], until: float) -> None:
        for request in requests:
            connection, started = Connection(self.base_url, ""), time.monotonic()
            try:
                status, _, _ = await connection.exchange(request)
            except (OSError, TimeoutError):
                seen.refused["gone"] += 1
            else:
                if status not in (200, 303):
                    seen.refused[str(status)] += 1
                seen.took.append((time.monotonic() - started) * 1_000)
            finally:
                connection.close()
            if time.monotonic() > until:
                return
            await asyncio.sleep(PAUSE_SECONDS)

    def _slow(self, ends: Counter[str]) -> list[Coroutine[Any, Any, None]]:
        many = range(self.each)
        made: list[Coroutine[Any, Any, None]] = []
        for head in heads():
            made += [_trickle(self.base_url, each, head, ends) for each in ADDRESSES for _ in many]
            for number in range(len(ADDRESSES) * self.each):
                named = f"{head}x-forwarded-for: {NETWORK}::{number:x}\r\n"
                made.append(_trickle(self.base_url, TRUSTED_PROXY, named, ends))
        return made


async def _trickle(base_url: str, address: str, head: str, ends: Counter[str]) -> None:
    """Send a body slowly, again and again."""
    where = urlsplit(base_url)
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(
                where.hostname, where.port, local_addr=(address, 0)
            )
            try:
                writer.write(f"{head}content-length: 900\r\n\r\n{{".encode())
                while not reader.at_eof():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(TRICKLE_SECONDS):
                            answer = await reader.read(4_096)
                            ends[answer[9:12].decode("latin-1") or "closed"] += 1
                            break
                    writer.write(b" ")
                    await writer.drain()
            finally:
                ends["slow"] += 1
                writer.transport.abort()
        await asyncio.sleep(0.1)


def _solution(world: World, key: str, number: int) -> bytes:
    """A request that solves a challenge by having waited; its page was shown."""
    request = {"method": "GET", "path": DOOR, "client_ip": f"198.51.100.{number % 250}"}
    event = {"request": request, "return_url": f"{SITE}{DOOR}"}
    decided = world.hot(key, RUNTIME, event)
    path = str(decided["action"]["challenge"]["redirect_url"]).partition(world.base_url)[2]
    world.get(path)
    return encoded("POST", f"{path}/solution", json.dumps({"method": "wait"}).encode())
