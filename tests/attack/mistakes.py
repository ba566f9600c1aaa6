"""An operator who sends documents that are wrong in very many places."""

from __future__ import annotations

import json
import time

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded, hammer
from tests.attack.expectations import REFUSAL_SECONDS
from tests.attack.served import World


@attrs.frozen
class Mistakes(Attack):
    """Definitions of wrong items, each of which would be a finding."""

    name = "mistakes"
    what = "PUT of definitions with 500,000 wrong items by an Owner, again and again"

    base_url: str
    requests: tuple[bytes, ...]

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Mistakes:
        count = 5 * scale.entries
        tenant = world.tenant("Mistakes")
        path, token = f"{tenant.path}/definitions", tenant.tokens["Owner"]
        parts = (
            {"policies": [1] * count},
            {"actions": [{}] * count},
            {"lists": [{"name": "l", "kind": "ip", "entries": [1] * count}]},
            {f"member{number}": 1 for number in range(count)},
        )
        bodies = [json.dumps({"apiVersion": "tidegate/v1", **part}).encode() for part in parts]
        requests = tuple(encoded("PUT", path, body, token) for body in bodies)
        return cls(world.base_url, requests)

    async def run(self, until: float) -> Outcome:
        started = time.monotonic()
        outcome = await hammer(self.base_url, self.requests, 1, until)
        each = (time.monotonic() - started) / max(sum(outcome.statuses.values()), 1)
        outcome.notes.append(f"{each:.2f} s each")
        outcome.require(set(outcome.statuses) == {"422"}, f"answers {dict(outcome.statuses)}")
        outcome.require(each < REFUSAL_SECONDS, f"a refusal takes {each:.1f} s")
        return outcome
