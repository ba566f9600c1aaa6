"""Items 8 and 9 of the attacks: requests that two readers could read in two ways."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded
from tests.attack.control import EVENT
from tests.attack.served import World
from tests.faults.load import Connection
from tests.faults.traffic import BEACON, RUNTIME
from tests.service.raw_http import exchange

STATUS = re.compile(rb"(?:^|(?<=[}\n\r>]))HTTP/1\.1 (\d{3}) ")
REFUSED = (400, 404, 405, 411, 413, 415, 422, 426, 431, 501, 505)
"""The statuses of whom the server does not understand; it never fails, and never decides."""
SILENCE_SECONDS = 3.0
"""Without a byte: the server says nothing further."""


def event(mark: str) -> bytes:
    """An event that can be found again."""
    return json.dumps({**EVENT, "fields": {"mark": mark}}).encode()


async def raw(base_url: str, sent: bytes) -> bytes:
    """The answer to bytes, until the connection is closed or nothing more comes."""
    return await asyncio.to_thread(exchange, base_url, [sent], SILENCE_SECONDS)


def statuses(received: bytes) -> list[int]:
    """The statuses of all answers of a connection, in order."""
    return [int(each) for each in STATUS.findall(received)]


@attrs.frozen
class Order(Attack):
    """A good call and a bad one behind it, in one write."""

    name = "order"
    what = "a good call followed by a bad one on the same connection"
    isolates: ClassVar[bool] = False

    base_url: str
    key: str
    token: str
    decisions: str

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Order:
        tenant = world.tenant("Order")
        decisions = f"{tenant.path}/decisions?limit=200"
        return cls(world.base_url, world.key(tenant), tenant.tokens["Analyst"], decisions)

    async def run(self, until: float) -> Outcome:
        outcome = Outcome()
        good = encoded("POST", RUNTIME, event("good"), api_key=self.key)
        cases = self._bad(good)
        sent = (raw(self.base_url, good + bad) for bad in cases.values())
        for name, received in zip(cases, await asyncio.gather(*sent), strict=True):
            found = statuses(received)
            outcome.statuses[" then ".join(map(str, found)) or "nothing"] += 1
            outcome.require(
                len(found) == 2 and found[0] == 200 and found[1] in REFUSED,
                f"a good call and {name} were answered {found}, not 200 and a refusal",
            )
        recorded = len(await recorded_decisions(self.base_url, self.decisions, self.token))
        answered = sum(count for each, count in outcome.statuses.items() if each.startswith("200"))
        outcome.require(recorded == answered, f"{recorded} decisions recorded, {answered} answered")
        return outcome

    def _bad(self, good: bytes) -> dict[str, bytes]:
        return {
            "no HTTP": b"\x16\x03\x01 nonsense\r\n\r\n",
            "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
            "two lengths": good.replace(b"content-length", b"content-length: 3\r\ncontent-length"),
            "a header past the limit": encoded("GET", "/healthz")[:-2]
            + b"x-a: "
            + b"a" * 40_000
            + b"\r\n\r\n",
            "a chunk that is none": good.split(b"content-length")[0]
            + b"transfer-encoding: chunked\r\n\r\nxyz\r\n",
        }


async def recorded_decisions(base_url: str, path: str, token: str) -> list[dict[str, Any]]:
    """The decisions recorded for a tenant."""
    connection = Connection(base_url, "")
    status, _, body = await connection.exchange(encoded("GET", path, token=token))
    connection.close()
    assert status == 200, body
    found: list[dict[str, Any]] = json.loads(body)
    return found


@attrs.frozen
class Case:
    """Bytes, and the statuses one of which has to be the only answer."""

    name: str
    request: bytes
    wanted: Collection[int] = REFUSED
    may_close: bool = False


@attrs.frozen
class Framing(Attack):
    """Requests that the server has to refuse, each by a stated status."""

    name = "framing"
    what = "%2f in paths, other versions, codings, upgrades, content types, __proto__"
    isolates: ClassVar[bool] = False

    base_url: str
    key: str
    token: str
    tenant: str
    upgrades: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Framing:
        tenant = world.tenant("Framing")
        return cls(
            world.base_url,
            world.key(tenant),
            tenant.tokens["Owner"],
            tenant.path,
            scale.upgrades,
        )

    async def run(self, until: float) -> Outcome:
        outcome = Outcome()
        cases = self._cases()
        sent = (raw(self.base_url, case.request) for case in cases)
        for case, received in zip(cases, await asyncio.gather(*sent), strict=True):
            found = statuses(received)
            outcome.statuses[str(found[0]) if found else "closed"] += 1
            is_refused = len(found) == 1 and found[0] in case.wanted
            outcome.require(
                is_refused or (case.may_close and not received),
                f"{case.name} was answered {found or received[:60]}",
            )
        await self._upgrade(outcome)
        await self._judged_alike(outcome)
        path = f"{self.tenant}/decisions?limit=200"
        recorded = await recorded_decisions(self.base_url, path, self.token)
        # The two of `_judged_alike` may decide, if both do.
        outcome.require(len(recorded) in (0, 2), f"{len(recorded)} refused requests were decided")
        return outcome

    def _cases(self) -> list[Case]:
        def hot(name: str, path: str = RUNTIME) -> bytes:
            return encoded("POST", path, event(name), api_key=self.key)

        def versioned(version: bytes) -> bytes:
            return hot("version").replace(b"HTTP/1.1", b"HTTP/" + version, 1)

        chunk = event("coded")
        chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(chunk), chunk)
        type_ = b"content-type: application/json\r\n"
        proto = {"name": "x", "mode": "Block", "block": {"headers": {"__proto__": "x"}}}
        two = type_ + b"content-type: text/plain\r\n"
        content = json.dumps(proto).encode()
        making = encoded("POST", f"{self.tenant}/mitigations", content, self.token)
        reading = encoded("GET", self.tenant.replace("/tenants/", "/tenants%2f"), token=self.token)
        return [
            Case("%2f in a hot path", hot("2f", "/api/v1/runtime%2fmitigation"), (400, 404)),
            Case("%2F in a hot path", hot("2F", "/api/v1/beacon%2Fevent"), (400, 404)),
            Case("%2f in a tenant's path", reading, (400, 404)),
            Case("HTTP/0.9", versioned(b"0.9"), (400, 505), True),
            Case("a line of HTTP/0.9", b"GET /healthz\r\n\r\n", (400, 505), True),
            Case("HTTP/2.0", versioned(b"2.0"), (400, 505), True),
            Case("`gzip, chunked`", self._coded(hot("coded"), b"gzip, chunked", chunks)),
            Case("`chunked, gzip`", self._coded(hot("coded"), b"chunked, gzip", chunks)),
            Case("two content types", hot("two").replace(type_, two), (400, 415)),
            Case("`__proto__` as a block header", making, (400, 422)),
        ]

    def _coded(self, request: bytes, coding: bytes, body: bytes) -> bytes:
        head, _, _ = request.partition(b"content-length")
        return head + b"transfer-encoding: " + coding + b"\r\n\r\n" + body

    async def _upgrade(self, outcome: Outcome) -> None:
        """Pipelined requests for another protocol: as many answers, or an orderly refusal."""
        one = b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
        sent = one * self.upgrades
        received = await raw(self.base_url, sent)
        found = statuses(received)
        is_whole = found == [200] * self.upgrades
        is_refused = bool(found) and set(found[:-1]) <= {200} and found[-1] in (*REFUSED, 429, 503)
        outcome.require(
            is_whole or is_refused,
            f"{self.upgrades} pipelined upgrades had {len(found)} answers, the last: {found[-1:]}",
        )

    async def _judged_alike(self, outcome: Outcome) -> None:
        """`; boundary=x` behind a content type, in one piece and in two."""
        whole = encoded("POST", BEACON, event("boundary"), api_key=self.key).replace(
            b"application/json", b"application/json; boundary=x"
        )
        found = [
            statuses(await _slowly(self.base_url, parts))
            for parts in ((whole,), (whole[:40], whole[40:]))
        ]
        outcome.require(found[0] == found[1], f"`; boundary=x` was answered {found}")


async def _slowly(base_url: str, parts: Collection[bytes]) -> bytes:
    """The answer to parts that arrive one by one."""

    def apart() -> Iterator[bytes]:
        for part in parts:
            yield part
            time.sleep(0.2)

    return await asyncio.to_thread(exchange, base_url, apart(), SILENCE_SECONDS)
