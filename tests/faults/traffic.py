"""Events whose actors run into windows, and the definitions that they run into.

Every actor but those of the probe is new after a while, so that windows fill and mitigations are
set all the time; durations are short, so that they end as well.
"""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from tidegate.policy.proofs import ProofKeys

BEACON, RUNTIME = "/api/v1/beacon/event", "/api/v1/runtime/mitigation"
MARKERS = 6
"""Policies that say which document they are of: a half-written one would have two kinds."""
ACTORS = 40
STAY = 25
"""Events after which one actor gives way to the next."""
PROBE = "/.env"
DOOR = "/door"
"""A path whose visitors are challenged."""


def definitions(tenant_id: str, name: str, number: int) -> dict[str, Any]:
    """The document with this number; all decide alike."""
    return {
        "apiVersion": "tidegate/v1",
        "tenant": {"name": name, "tenant_id": tenant_id},
        "entities": [
            {"name": "Address", "key_fields": ["request.client_ip"]},
            {"name": "Account", "key_fields": ['fields["account"]'], "priority": 20},
        ],
        "mitigations": [
            {"name": "Turn away", "mode": "Block", "ttl_seconds": 4},
            {"name": "Ask", "mode": "Challenge", "ttl_seconds": 2},
            {"name": "Keep out", "mode": "Block", "ttl_seconds": 86_400},
            {"name": "Doorman", "mode": "Challenge", "ttl_seconds": 0, "challenge": _LIGHT},
        ],
        "policies": [
            _policy("Door", f'request.path == "{DOOR}"', "address", "doorman"),
            _policy("Probe", f'request.path == "{PROBE}"', "address", "keep-out"),
            _policy(
                "Burst",
                "true",
                "address",
                "turn-away",
                {"duration_seconds": 3, "threshold": 12},
            ),
            _policy(
                "Many accounts",
                "true",
                "address",
                "ask",
                {
                    "duration_seconds": 5,
                    "threshold": 5,
                    "measure": "distinct",
                    "field": 'fields["account"]',
                },
            ),
            _policy(
                "Busy account",
                'request.method == "POST"',
                "account",
                None,
                {"duration_seconds": 60, "threshold": 100},
            ),
            *(
                {"name": f"Marker {each}", "description": str(number), "clauses": [_NEVER]}
                for each in range(MARKERS)
            ),
        ],
    }


_LIGHT = {"provider": "pow", "difficulty": 1}
_NEVER = {"name": "never", "expression": 'request.path == "/never"'}


def _policy(
    name: str,
    expression: str,
    entity: str,
    mitigation: str | None,
    window: dict[str, Any] | None = None,
) -> dict[str, Any]:
    clause = {"name": "only", "expression": expression, "entity": entity}
    if mitigation is not None:
        clause["mitigation"] = mitigation
    return {"name": name, "clauses": [clause if window is None else {**clause, "window": window}]}


class Traffic:
    """A stream of events, the same for the same seed; each has an idempotency key of its own.

    Args:
        seed: of the draws.
        proof_keys: with them, many actors show proofs of challenges, some from a second network,
            so that Blocks revoke passes all the time.
    """

    def __init__(self, seed: int, proof_keys: ProofKeys | None = None) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._made = 0
        self._proof_keys = proof_keys
        self._began = time.time_ns()

    def next(self) -> tuple[str, str, bytes]:
        """The path of the call, the key, and the body of an event."""
        draw = self._random
        self._made += 1
        key = f"{self._seed}-{self._made}"
        is_probe = draw.random() < 0.01
        actor = self._made // STAY + draw.randrange(ACTORS)
        network = "9" if is_probe else "8"
        body = {
            "request": {
                "method": draw.choice(["GET", "POST"]),
                "path": PROBE if is_probe else f"/page/{draw.randrange(50)}",
                "client_ip": f"10.{network}.{actor // 250 % 250}.{actor % 250}",
            },
            "fields": {"account": f"account-{draw.randrange(30)}"},
            "idempotency_key": key,
        }
        if self._proof_keys is not None and actor % 3:
            body["request"]["cookies"] = {"service_challenge": self._proof(self._proof_keys, actor)}
        return draw.choice([BEACON, RUNTIME]), key, json.dumps(body).encode()

    def _proof(self, keys: ProofKeys, actor: int) -> str:
        """The token of an actor, whose challenge was perhaps solved from elsewhere."""
        home = f"10.{7 + actor % 2}.{actor // 250 % 250}.1"
        pass_id = UUID(int=self._seed << 32 | actor)
        ends = self._began + 1_800 * 10**9
        return keys.mint(pass_id, pass_id, self._began, ends, keys.client(home, None))
