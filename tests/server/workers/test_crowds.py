"""Requests that come while others hold places, threads and workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import ExitStack
from typing import Any, TypeVar

import anyio
import attrs
import httpx2
from tests.server.serving import Caller, Served

from tidegate_server.connection.accept_limit import AcceptLimit
from tidegate_server.http.application import HttpApplication
from tidegate_server.offload.inbox import A, Inbox
from tidegate_server.offload.jobs import Inline
from tidegate_server.offload.kinds import Crowd
from tidegate_server.offload.slots import Party, default_slots
from tidegate_server.offload.throttle import APART_SECONDS, FREE_REFUSALS, LATE_SECONDS, Throttle
from tidegate_server.routing.dispatch import control_plane, nothing

T = TypeVar("T")
CHECK = {"expression": "request.path == '/'", "purpose": "condition"}


class Busy(Inline):
    """Workers that are busy until the test releases them."""

    def __init__(self) -> None:
        self.is_free = asyncio.Event()
        self.waiting = 0

    async def run(
        self,
        job: Callable[[A], T],
        inbox: Inbox[A],
        owner: Hashable,
        seconds: float,
        *,
        is_urgent: bool = False,
    ) -> T:
        self.waiting += 1
        await self.is_free.wait()
        return await super().run(job, inbox, owner, seconds, is_urgent=is_urgent)


def calling(
    served: Served, scene: Callable[[httpx2.AsyncClient, Any], Awaitable[None]], **changes: Any
) -> None:
    """Play a scene with callers of the application, all on one loop."""

    async def whole() -> None:
        application = attrs.evolve(
            served.application,
            places=default_slots(),
            accept_limit=AcceptLimit(),
            light_threads=anyio.CapacityLimiter(2),
            admitting_threads=anyio.CapacityLimiter(2),
            **changes,
        )
        transport = httpx2.ASGITransport(
            app=HttpApplication(control_plane(application), nothing(application))
        )
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as http:
            await scene(http, application)

    asyncio.run(whole())


async def check(http: httpx2.AsyncClient, caller: Caller, tenant_id: str) -> httpx2.Response:
    headers = {"authorization": f"Bearer {caller.token}"}
    where = f"/api/v1/tenants/{tenant_id}/expressions/check"
    return await http.post(where, json=CHECK, headers=headers)


def test_one_operator_has_some_places_and_another_still_gets_one(served: Served) -> None:
    """One request past an operator's places is refused at once, and another operator gets one."""
    owner, tenant_id = served.owner()
    other, others_id = served.owner()

    async def scene(http: httpx2.AsyncClient, application: Any) -> None:
        busy, places = application.workers, application.places[Crowd.HEAVY]
        share = places._shares[Party.OPERATOR]
        held = [asyncio.ensure_future(check(http, owner, tenant_id)) for _ in range(share)]
        while busy.waiting < share:
            await asyncio.sleep(0.001)
        refused = await check(http, owner, tenant_id)
        assert (refused.status_code, refused.json()["code"]) == (429, "too-many-requests")
        assert refused.headers["retry-after"] == "1"
        another = asyncio.ensure_future(check(http, other, others_id))
        while busy.waiting < share + 1:
            await asyncio.sleep(0.001)
        busy.is_free.set()
        answers = await asyncio.gather(*held, another)
        assert [each.status_code for each in answers] == [200] * (share + 1)
        assert places.taken == 0

    calling(served, scene, workers=Busy())


def test_health_answers_while_everything_is_taken(served: Served) -> None:
    """Every place, every thread of the control plane: it needs none of them."""

    async def scene(http: httpx2.AsyncClient, application: Any) -> None:
        with ExitStack() as held:
            for crowd in Crowd:
                places = application.places[crowd]
                for number in range(places._most):
                    party = next(iter(places._shares))
                    held.enter_context(places.take([(party, number)]))
            for limiter in (application.light_threads, application.admitting_threads):
                for number in range(int(limiter.total_tokens)):
                    limiter.acquire_on_behalf_of_nowait(number)
            assert (await http.get("/healthz")).status_code == 200
            assert (await http.get("/readyz")).json()["code"] == "not-ready"
            assert (await http.get("/metrics")).status_code == 200
            assert (await http.get("/docs")).json()["code"] == "overloaded"

    calling(served, scene)


def test_refusals_that_go_on_are_answered_late() -> None:
    """A few at once, the others after a while, one after the other; each second begins anew."""
    now = [0.0]
    late: list[float] = []

    class Noting(AcceptLimit):
        async def turn(self, line: Hashable, seconds: float) -> None:
            late.append(seconds)
            await super().turn(line, 0)

    async def scene() -> None:
        refusing = Throttle(Noting(), lambda: now[0])
        for _ in range(FREE_REFUSALS):
            await refusing.refused("a")
        assert not late
        await refusing.refused("a")
        await refusing.refused("b")
        await refusing.refused("a")
        assert late == [LATE_SECONDS + APART_SECONDS, LATE_SECONDS + 2 * APART_SECONDS]
        now[0] = 1.0
        await refusing.refused("a")
        assert len(late) == 2

    asyncio.run(scene())
