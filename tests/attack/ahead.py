"""Pages of challenges that are fetched ahead, to have visitors counted as unable to solve them."""

from __future__ import annotations

import json
from typing import Any

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded, hammer
from tests.attack.expectations import AHEAD_OPENED
from tests.attack.places import DEFINITIONS, DOOR
from tests.attack.served import World
from tests.faults.traffic import RUNTIME

HEADERS = ("sec-purpose: prefetch", "purpose: preview", "x-moz: prefetch")


@attrs.frozen
class Ahead(Attack):
    """Prefetches and previews of the page of every challenge."""

    name = "ahead"
    what = "pages of challenges fetched ahead"

    base_url: str
    requests: tuple[bytes, ...]
    results: bytes
    connections: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Ahead:
        tenant = world.tenant("Ahead")
        owner, key = tenant.tokens["Owner"], world.key(tenant)
        world.must(owner, "PUT", f"{tenant.path}/definitions", DEFINITIONS)
        requests = []
        for number in range(scale.visitors):
            request = {"method": "GET", "path": DOOR, "client_ip": f"198.51.100.{number % 250}"}
            decided: dict[str, Any] = world.hot(key, RUNTIME, {"request": request})
            url = str(decided["action"]["challenge"]["redirect_url"])
            path = url.partition(world.base_url)[2]
            plain = encoded("GET", path)
            requests += [plain[:-2] + f"{each}\r\n\r\n".encode() for each in HEADERS]
        results = encoded("GET", f"{tenant.path}/results/challenges", token=owner)
        return cls(world.base_url, tuple(requests), results, scale.connections)

    async def run(self, until: float) -> Outcome:
        outcome = await hammer(self.base_url, self.requests, self.connections, until)
        opened: list[int] = []

        def count(_: int, body: bytes) -> None:
            opened.append(sum(each["issued"] for each in json.loads(body)["providers"]))

        await hammer(self.base_url, [self.results], 1, until + 60, 1, count)
        outcome.require(
            opened == [AHEAD_OPENED], f"{opened} challenges were opened by nobody's request"
        )
        allowed = {"403", "429"}
        others = outcome.statuses.keys() - allowed
        outcome.require(not others, f"answers to pages fetched ahead were {sorted(others)}")
        return outcome
