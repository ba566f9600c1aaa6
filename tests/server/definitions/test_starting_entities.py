"""The entity definitions of a new tenant, as they count."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tidegate.engine import Engine
from tidegate.policy.document import to_members
from tidegate_server.definitions.starting_entities import starting_entities

TENANT = UUID("0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e")
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


def counting(entity: str) -> Engine:
    """Blocks the third event of an entity in a minute."""
    window = {"duration_seconds": 60, "threshold": 3}
    clause = {"entity": entity, "mitigation": "refuse", "window": window}
    document: dict[str, Any] = {
        "apiVersion": "tidegate/v1",
        "entities": [to_members(each) for each in starting_entities(TENANT)],
        "mitigations": [{"name": "Refuse", "mode": "Block"}],
        "policies": [{"name": "Many", "clauses": [clause]}],
    }
    return Engine(document, clock=lambda: 1_772_409_600_000_000_000)


def answers(engine: Engine, *requests: dict[str, str]) -> list[str]:
    return [engine.decide({"request": each}).action.type for each in requests]


@pytest.mark.parametrize("entity", ["ip-user-agent", "ip"])
def test_leaving_the_user_agent_out_escapes_no_window(entity: str) -> None:
    """A request without the header is counted as one with it is."""
    silent = {"path": "/login", "client_ip": "192.0.2.7"}
    assert answers(counting(entity), silent, silent, silent) == ["allow", "allow", "block"]
    empty = {**silent, "user_agent": ""}
    assert answers(counting(entity), silent, empty, silent) == ["allow", "allow", "block"]


def test_changing_the_user_agent_does_not_escape_the_address() -> None:
    """Visitors that ``ip-user-agent`` tells apart are counted together by ``ip``."""
    varied = [{"path": "/", "client_ip": "192.0.2.7", "user_agent": f"{n}"} for n in range(3)]
    assert answers(counting("ip-user-agent"), *varied) == ["allow"] * 3
    assert answers(counting("ip"), *varied) == ["allow", "allow", "block"]


@pytest.mark.parametrize("entity", ["ip-user-agent", "ip"])
def test_strangers_without_an_address_are_not_counted_together(entity: str) -> None:
    """An absent address is nobody's."""
    unknown = {"path": "/", "user_agent": BROWSER}
    assert answers(counting(entity), unknown, unknown, unknown) == ["allow"] * 3


def test_an_account_is_counted_wherever_it_comes_from() -> None:
    """Events that name no account, or an empty one, aren't counted as one account."""
    engine = counting("account-id")

    def answer(address: str, **fields: str) -> str:
        event = {"request": {"path": "/", "client_ip": address}, "fields": fields}
        return engine.decide(event).action.type

    assert [answer("192.0.2.1"), answer("192.0.2.2", account_id="")] * 3 == ["allow"] * 6
    found = [answer(f"192.0.2.{n}", account_id="a-17") for n in range(3)]
    assert found == ["allow", "allow", "block"]
    assert answer("192.0.2.9", account_id="a-18") == "allow"
