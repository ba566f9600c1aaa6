"""Proofs of challenges that generated events show: good ones, and each kind of bad ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from tidegate.policy.proofs import ProofKeys
from tidegate.testing.choices import happens, pick

if TYPE_CHECKING:
    from tidegate.testing.choices import Choices

SECOND = 1_000_000_000
_OTHER_TENANT = UUID(int=1)
_PASSES = tuple(UUID(int=number) for number in range(1, 6))
_CLIENTS = (("192.0.2.7", "curl"), ("10.0.0.1", "curl"), ("2001:db8::1", "a bot"), (None, None))
_SPOILED = ("", "x", ", ", "x, y", "AQAQ", "A" * 256, "é", "A" * 300)


def proof_keys(tenant: UUID) -> ProofKeys:
    """The keys that the proofs of generated events are made with."""
    return ProofKeys(tenant, b"p" * 32, b"s" * 32)


def show_proofs(choices: Choices, keys: ProofKeys, event: dict[str, Any], received_at: int) -> None:
    """Have an event show proofs in the query, in cookies, or in both.

    Args:
        choices: what is generated.
        keys: of the tenant.
        event: it has a request.
        received_at: when it arrives, in nanoseconds since 1970.
    """
    request = event["request"]
    places = (("query_params", "service_challenge_proof"), ("cookies", "service_challenge"))
    shown = pick(choices, (places[:1], places[1:], places))
    for place, name in shown:
        count = pick(choices, (1, 1, 1, 2, 3))
        tokens = [_token(choices, keys, request, received_at) for _ in range(count)]
        request[place] = {"id": "1", name: tokens[0] if count == 1 else tokens}


def _token(choices: Choices, keys: ProofKeys, request: dict[str, Any], at: int) -> str:
    if happens(choices, 10):
        return pick(choices, _SPOILED)
    own = request.get("client_ip"), request.get("user_agent")
    client = keys.client(*(own if happens(choices, 60) else pick(choices, _CLIENTS)))
    if happens(choices, 5):
        keys = proof_keys(_OTHER_TENANT)
    lasts = pick(choices, (0, 1, 2, 6, 90, 1_800, 1_800, 1_800)) * SECOND
    # One pass may have proofs that end at different times: only a faulty caller makes such ones.
    token = keys.mint(pick(choices, _PASSES), UUID(int=at), at - SECOND, at + lasts, client)
    return token[:-1] if happens(choices, 5) else token
