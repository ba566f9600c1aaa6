"""Agents that sign their requests, behind each integration."""

from __future__ import annotations

import time
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from tests.integrations.asking import PROGRAM, ask
from tests.integrations.edges import COMMANDS, running
from tests.server.deciding import Deciding, Service
from tests.signing import Agent
from tests.waiting import wait_until

AGENT = Agent()
DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "lists": [AGENT.named_list],
    "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 0}],
    "policies": [
        {
            "name": "Agents",
            "expression": 'agent.product != "Shopper" || agent.proof != "signature"',
            "clauses": [{"name": "others", "mitigation": "refuse"}],
        }
    ],
}


@pytest.fixture(scope="module")
def shop(service: Service) -> Deciding:
    """A tenant that lets one agent through."""
    made = service.tenant(DEFINITIONS)

    def is_let_through() -> bool:
        request = {"host": "localhost", "headers": signed("localhost")}
        return bool(made.decide("/a", request=request)["action"]["type"] == "allow")

    # Until then a nonce may have been used before the service began.
    wait_until(is_let_through)
    return made


def signed(authority: str, **params: str) -> dict[str, str]:
    made = AGENT.headers(
        authority=authority, created=int(time.time()), path="/a", nonce=str(uuid4()), **params
    )
    return dict(made)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_signed_request_is_proven_and_a_changed_one_is_not(
    name: str,
    service: Service,
    shop: Deciding,
    tmp_path_factory: pytest.TempPathFactory,
    proxy: None,
    node: None,
) -> None:
    """Each integration forwards what is signed as it was received, and no change passes for it."""
    with running(name, service.base_url, shop.key, tmp_path_factory.mktemp(name)) as edge:
        authority = urlsplit(edge.base_url).netloc
        headers = PROGRAM | signed(authority)
        assert ask(edge.base_url, "/a", headers).status == 200
        assert ask(edge.base_url, "/a", headers).status == 403  # replayed
        assert ask(edge.base_url, "/b", PROGRAM | signed(authority)).status == 403
        assert ask(edge.base_url, "/a", PROGRAM | signed("foreign.example")).status == 403
        changed = signed(authority) | {"signature-agent": 'sig="https://evil.example"'}
        assert ask(edge.base_url, "/a", PROGRAM | changed).status == 403
        assert ask(edge.base_url, "/a", PROGRAM).status == 403
        assert ask(edge.base_url, "/a?q=1", PROGRAM | signed(authority)).status == 200
