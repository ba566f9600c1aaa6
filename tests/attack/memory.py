"""Item 5 of the attacks: operations repeated until memory stays, or does not."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded
from tests.attack.control import decided, entries, replay, simulation
from tests.attack.documents import rules
from tests.attack.expectations import PLATEAU_MIB
from tests.attack.processes import Usage
from tests.attack.served import World
from tests.faults.load import Connection

OPERATION_SECONDS = 120.0
"""Rounds of one operation end here, even if there were fewer than wanted; it is said then."""
JOB_SECONDS = 20.0
"""Time to wait for the end of a replay job."""
BREATH = 0.05
"""Seconds between rounds, so that what an operation leaves to threads is done."""


@attrs.frozen
class Memory(Attack):
    """Every operation of the control plane that reads or writes many rules, again and again."""

    name = "memory"
    what = "100 rounds of each operation on 10,000 rules, one after the other"
    isolates = False
    bounds_growth = True

    base_url: str
    pid: int
    operations: dict[str, tuple[bytes, ...]]
    rounds: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Memory:
        tenant, count = world.large(scale.rules)
        admin, analyst = tenant.tokens["Admin"], tenant.tokens["Analyst"]

        def write(method: str, path: str, *bodies: Any) -> tuple[bytes, ...]:
            return tuple(
                encoded(method, tenant.path + path, json.dumps(body).encode(), admin)
                for body in bodies
            )

        made = world.must(admin, "POST", f"{tenant.path}/lists", {"name": "long", "kind": "string"})
        [policy] = world.must(admin, "GET", f"{tenant.path}/policies?limit=1")
        explained = tuple(encoded("GET", path, token=analyst) for path in decided(world, tenant, 3))
        operations = {
            "explain": explained,
            "simulate": (simulation(world, tenant),),
            "replay": (replay(tenant, count),),
            "read definitions": (encoded("GET", f"{tenant.path}/definitions", token=admin),),
            "check": write("POST", "/expressions/check", {"expression": "request.path == '/'"}),
            "change a policy": write(
                "PATCH",
                f"/policies/{policy['policy_id']}",
                {"description": "one"},
                {"description": "another"},
            ),
            "change a list": write(
                "PATCH",
                f"/lists/{made['list_id']}",
                *({"entries": entries(scale.entries, mark)} for mark in "ab"),
            ),
            "replace definitions": write(
                "PUT", "/definitions", *(rules(count, mark) for mark in (1, 2))
            ),
        }
        return cls(world.base_url, world.pid, operations, scale.rounds)

    async def run(self, until: float) -> Outcome:
        outcome = Outcome()
        for name, requests in self.operations.items():
            resident = await self._repeat(requests, outcome)
            growth = _late_growth(resident)
            whole = resident[-1] - resident[0]
            outcome.notes.append(f"{name} x{len(resident)}: {whole:+.0f} MiB, last {growth:+.0f}")
            outcome.require(
                growth <= PLATEAU_MIB,
                f"{name}: {growth:+.0f} MiB in the last third of {len(resident)} rounds",
            )
        return outcome

    async def _repeat(self, requests: Sequence[bytes], outcome: Outcome) -> list[float]:
        """Resident MiB after each round."""
        connection = Connection(self.base_url, "")
        resident: list[float] = []
        started = time.monotonic()
        processes = Usage.read(self.pid).processes
        for number in range(self.rounds):
            try:
                status, _, _ = await connection.exchange(requests[number % len(requests)])
                outcome.statuses[str(status)] += 1
            except (OSError, TimeoutError):
                outcome.statuses["gone"] += 1
                connection.close()
            await asyncio.sleep(BREATH)
            resident.append((await self._after_jobs(processes)).resident)
            if time.monotonic() - started > OPERATION_SECONDS:
                break
        connection.close()
        return resident

    async def _after_jobs(self, processes: int) -> Usage:
        """Usage after the end of a replay job, which has a process of its own."""
        ends = time.monotonic() + JOB_SECONDS
        while (usage := Usage.read(self.pid)).processes > processes and time.monotonic() < ends:
            await asyncio.sleep(BREATH)
        return usage


def _late_growth(resident: Sequence[float]) -> float:
    """The growth from the second third of the rounds to the last.

    Peaks are compared: what a worker holds goes up with each set of definitions that it keeps, and
    down when the worker is replaced, so that the last round alone says little.
    """
    third = len(resident) // 3
    if third == 0:
        return 0.0
    return max(resident[-third:]) - max(resident[-2 * third : -third])
