"""The agent of an event, and what proves it."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.errors import EventError
from tidegate.evaluation.agents.ranges import RANGES
from tidegate.evaluation.agents.registry import KNOWN_AGENTS, PURPOSES, KnownAgent
from tidegate.evaluation.encoder import encode
from tidegate.language.tree.schema import FIELD_MODEL

FIELDS = [name for name in FIELD_MODEL if name.startswith("agent.")]
GOOGLE = "66.249.66.1"
ELSEWHERE = "198.51.100.7"


def agent_of(event: dict[str, Any]) -> dict[str, Any]:
    record = encode(event, FIELDS, variables=FIELD_MODEL)
    return {name.removeprefix("agent."): value for name, value in record.items()}


def visit(user_agent: str, client_ip: str = ELSEWHERE, **finding: str) -> dict[str, Any]:
    request = {"user_agent": user_agent, "client_ip": client_ip}
    return {"request": request, **({"agent": finding} if finding else {})}


def test_a_name_from_a_published_address_is_proven_by_its_range() -> None:
    """An agent that comes from an address that its operator publishes has the proof `range`."""
    assert agent_of(visit("Googlebot/2.1", GOOGLE)) == {
        "operator": "Google", "product": "Googlebot", "purpose": "search", "proof": "range",
        "claims": "Googlebot", "is_provable": True, "signature_problem": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("user_agent", "client_ip", "proof", "is_provable"),
    [
        ("Googlebot/2.1", ELSEWHERE, "name", True),
        ("Googlebot/2.1", "unknown", "name", False),
        ("Amazonbot/0.1", GOOGLE, "name", False),
        ("bingbot/2.0", GOOGLE, "name", True),
        ("Mozilla/5.0 Firefox/140.0", GOOGLE, "none", False),
        ("", GOOGLE, "none", False),
    ],
)
def test_imitators_differ_from_agents_that_cannot_be_proven(
    user_agent: str, client_ip: str, proof: str, is_provable: bool
) -> None:
    """A name is provable only where its operator publishes addresses and the client's is known."""
    found = agent_of(visit(user_agent, client_ip))
    assert (found["proof"], found["is_provable"]) == (proof, is_provable)


def test_a_finding_with_a_proof_says_who_the_agent_is() -> None:
    """A finding that was made before the decision counts more than the name, a claim."""
    finding = {"proof": "signature", "operator": "OpenAI", "product": "ChatGPT-User"}
    found = agent_of(visit("Googlebot/2.1", ELSEWHERE, **finding, purpose="user"))
    assert found == {
        "operator": "OpenAI", "product": "ChatGPT-User", "purpose": "user", "proof": "signature",
        "claims": "Googlebot", "is_provable": True, "signature_problem": "",
    }  # fmt: skip


def test_a_finding_without_a_proof_leaves_the_other_proofs() -> None:
    """A signature that proves nothing is reported, and a published address still counts."""
    found = agent_of(visit("Googlebot/2.1", GOOGLE, signature_problem="expired"))
    assert (found["proof"], found["signature_problem"]) == ("range", "expired")
    found = agent_of(visit("curl/8", GOOGLE, claims="https://a.example"))
    assert (found["proof"], found["claims"], found["product"]) == ("name", "https://a.example", "")


@pytest.mark.parametrize(
    ("finding", "pointer"),
    [
        ({"proof": "name", "product": "x"}, "/agent/proof"),
        ({"proof": "signature"}, "/agent/product"),
        ({"purpose": "fun"}, "/agent/purpose"),
        ({"prove": "dns"}, "/agent/prove"),
    ],
)
def test_a_finding_that_cannot_be_used_is_refused(finding: dict[str, str], pointer: str) -> None:
    """A finding with an unknown member, proof or purpose is refused with its place."""
    with pytest.raises(EventError) as refused:
        agent_of(visit("x", **finding))
    assert refused.value.pointer == pointer


@pytest.mark.parametrize("known", KNOWN_AGENTS, ids=lambda known: known.family)
def test_every_known_agent_has_a_name_and_a_purpose(known: KnownAgent) -> None:
    """Each agent of the registry is found by its name, with its operator and purpose."""
    found = agent_of(visit(f"Mozilla/5.0 (compatible; {known.family}/1.0)"))
    assert found["product"] == found["claims"] == known.family
    assert (found["operator"], found["purpose"]) == (known.operator, known.purpose)
    assert known.purpose in PURPOSES


def test_every_name_of_ranges_has_addresses() -> None:
    """Each name of published addresses that an agent refers to exists, and none is unused."""
    assert {known.ranges for known in KNOWN_AGENTS} - {""} == set(RANGES)
    assert all(RANGES.values())
