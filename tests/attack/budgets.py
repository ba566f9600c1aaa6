"""Items 1 and 2 of the attacks: decisions that take long, and as many as keys allow."""

from __future__ import annotations

import json
import random
from typing import Any

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded, hammer
from tests.attack.documents import samples
from tests.attack.served import World
from tests.faults.traffic import RUNTIME

PATTERNS = 18
"""Patterns of one policy: with more, its expression costs more than an expression may."""
SUBJECT_BYTES = 15_900
"""Three of them make an event of 48 KB."""
LETTERS = "defghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PLACES = ("request.path", "request.user_agent", 'fields["x"]')
KEYS = 16
BATCHES = "/api/v1/beacon/events"


@attrs.frozen
class Budget(Attack):
    """One legal event that many accepted policies take long over."""

    name = "budget"
    what = "48 KB events over policies of 18 patterns each, 8 connections"

    base_url: str
    request: bytes
    policies: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Budget:
        tenant = world.tenant("Budget")
        policies = world.define(tenant, heavy, scale.policies)
        request = encoded("POST", RUNTIME, heavy_event(), api_key=world.key(tenant))
        return cls(world.base_url, request, policies)

    async def run(self, until: float) -> Outcome:
        outcome = await hammer(self.base_url, [self.request], 8, until)
        outcome.notes.append(f"{self.policies:,} policies")
        return outcome


def heavy(count: int) -> dict[str, Any]:
    """Policies of patterns that keep many of their states alive; no two are alike."""

    def pattern(number: int) -> str:
        # A longer end would be looked for first, and found to be missing.
        return f"[ab]*a[ab{LETTERS[number // 450 % len(LETTERS)]}]{{{500 + number % 450}}}c"

    def expression(policy: int) -> str:
        return " || ".join(
            f'{PLACES[each % 3]}.matches("{pattern(policy * PATTERNS + each)}")'
            for each in range(PATTERNS)
        )

    policies = [
        {"name": f"Heavy {number}", "clauses": [{"expression": expression(number)}]}
        for number in range(count)
    ]
    return {"apiVersion": "tidegate/v1", "policies": policies}


def heavy_event() -> bytes:
    """An event of 48 KB that no pattern matches, and none can give up early on."""
    dice = random.Random(1)
    text = "".join(dice.choice("ab") for _ in range(SUBJECT_BYTES))
    request = {
        "method": "GET",
        "path": "/" + text,
        "client_ip": "203.0.113.9",
        "user_agent": text,
    }
    return json.dumps({"request": request, "fields": {"x": text}}).encode()


@attrs.frozen
class Hog(Attack):
    """The most events that the keys of a tenant allow."""

    name = "hog"
    what = "batches of 1,000 events, 16 keys, two batches at a time on each connection"

    base_url: str
    requests: tuple[bytes, ...]
    most: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Hog:
        tenant = world.tenant("Hog")
        world.must(tenant.tokens["Admin"], "PUT", f"{tenant.path}/definitions", samples())
        keys = [world.key(tenant, f"key {number}") for number in range(KEYS)]
        body = json.dumps([_event(number) for number in range(scale.batch)]).encode()
        requests = tuple(encoded("POST", BATCHES, body, api_key=key) for key in keys)
        return cls(world.base_url, requests, scale.most_events // scale.batch)

    async def run(self, until: float) -> Outcome:
        decided = 0

        def count(status: int, body: bytes) -> None:
            nonlocal decided
            decided += body.count(b'"item_id"') if status == 200 else 0

        outcome = await hammer(self.base_url, self.requests, 2 * KEYS, until, self.most, count)
        outcome.notes.append(f"{decided:,} events decided")
        return outcome


def _event(number: int) -> dict[str, Any]:
    address = f"198.18.{number // 250 % 250}.{number % 250}"
    request = {"method": "POST", "path": f"/products/{number}", "client_ip": address}
    return {"request": {**request, "user_agent": "hog"}, "fields": {"account_id": f"a{number}"}}
