"""A tenant that challenges, and who visits it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import altcha
import attrs
import httpx2
from tests.server.deciding import Deciding, Service, made

WAIT_SECONDS = 1
RETURN_URL = "https://shop.example/secret?page=2"
DEFINITIONS: dict[str, Any] = {
    "apiVersion": "tidegate/v1",
    "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
    "mitigations": [
        {"name": "Prove", "mode": "Challenge", "ttl_seconds": 0},
        {"name": "Refuse", "mode": "Block", "ttl_seconds": 0},
    ],
    "policies": [
        {
            "name": "Gate",
            "expression": 'request.path == "/secret"',
            "clauses": [{"name": "any", "mitigation": "prove"}],
        },
        {
            "name": "Trap",
            "expression": 'request.path == "/trap"',
            "clauses": [{"name": "any", "mitigation": "refuse"}],
        },
    ],
}


@attrs.frozen
class Gate:
    """A tenant that challenges requests for a path, and lets visitors wait instead."""

    tenant: Deciding

    @property
    def base_url(self) -> str:
        """The base URL of the service."""
        return self.tenant.service.base_url

    @property
    def http(self) -> httpx2.Client:
        """Somebody without a credential."""
        return self.tenant.service.http

    def challenged(self, address: str, return_url: str | None = RETURN_URL) -> str:
        """The path of a new challenge."""
        given = {} if return_url is None else {"return_url": return_url}
        decision = self.tenant.decide("/secret", address, **given)
        url: str = decision["action"]["challenge"]["redirect_url"]
        return url[url.index("/api/") :]

    def opened(self, address: str, return_url: str = RETURN_URL) -> str:
        """The path of a challenge whose page was shown."""
        path = self.challenged(address, return_url)
        assert self.http.get(path).status_code == 200
        return path

    def spend(self, path: str) -> httpx2.Response:
        """The answer to a solution, once it does not come too early."""
        while True:
            answer = self.http.post(f"{path}/solution", json={"method": "wait"})
            if answer.json().get("code") != "challenge-too-early":
                return answer

    def solution(self, path: str) -> str:
        """The solution of the challenge whose page is at a path, found natively."""
        page = self.http.get(path, headers={"accept": "text/html"}).text
        found = re.search('challenge="([^"]+)"', page)
        assert found is not None
        challenge = altcha.Challenge.from_dict(json.loads(unescape(found[1])))
        solution = altcha.solve_challenge(challenge)
        assert solution is not None
        return altcha.Payload(challenge, solution).to_base64()

    def proof(self, address: str) -> str:
        """A proof for an address."""
        found: str = self.spend(self.opened(address)).json()["proof"]
        return found

    def shown(self, proof: str, path: str, address: str) -> dict[str, Any]:
        """The decision on a request with a proof."""
        request = {"query_params": {"service_challenge_proof": proof}}
        return self.tenant.decide(path, address, request=request)

    def is_valid(self, proof: str, **headers: str) -> bool:
        """The service's verdict on a proof."""
        answer = self.http.post(
            "/api/v1/challenge/proof/verify", json={"token": proof}, headers=headers
        )
        valid: bool = made(answer)["valid"]
        return valid


def gate_of(
    service: Service,
    *,
    wait_seconds: int = WAIT_SECONDS,
    challenge: Mapping[str, Any] | None = None,
    origins: tuple[str, ...] = ("https://shop.example",),
) -> Gate:
    """A new tenant of this kind.

    Args:
        wait_seconds: of visitors who wait instead.
        challenge: of the mitigation; the lightest there is when left out.
        origins: where visitors may be sent.
    """
    prove, refuse = DEFINITIONS["mitigations"]
    mitigations = [{**prove, "challenge": challenge or {"difficulty": 1}}, refuse]
    tenant = service.tenant({**DEFINITIONS, "mitigations": mitigations})
    settings = {"challenge_wait_seconds": wait_seconds, "return_url_origins": list(origins)}
    made(tenant.by("Owner").patch(tenant.path, {"settings": settings}))
    return Gate(tenant)
