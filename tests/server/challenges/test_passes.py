"""Passes: verified by anybody, listed and revoked by operators, ended by a Block."""

from __future__ import annotations

import pytest
from tests.server.challenges.gate import Gate, gate_of
from tests.server.deciding import Service


def test_a_proof_is_good_until_its_pass_is_revoked(gate: Gate) -> None:
    """An operator revokes the pass; the proof is no longer good, and its holder is challenged."""
    proof = gate.proof("192.0.2.30")
    assert gate.is_valid(proof)
    newest = gate.tenant.get("passes", limit=1)[0]
    revoked = gate.tenant.by("Admin").delete(f"{gate.tenant.path}/passes/{newest['pass_id']}")
    assert revoked.status_code == 204
    assert not gate.is_valid(proof)
    assert gate.shown(proof, "/secret", "192.0.2.30")["action"]["type"] == "challenge"


def test_a_block_revokes_the_pass(gate: Gate) -> None:
    """A visitor with a pass who meets a Block is allowed once more, and then blocked."""
    proof = gate.proof("192.0.2.31")
    assert gate.shown(proof, "/trap", "192.0.2.31")["action"]["type"] == "allow"
    assert gate.shown(proof, "/trap", "192.0.2.31")["action"]["type"] == "block"
    assert not gate.is_valid(proof)


def test_a_proof_of_another_tenant_is_none(gate: Gate, service: Service) -> None:
    """With an API key the proof must be of its tenant."""
    other, proof = gate_of(service), gate.proof("192.0.2.32")
    assert gate.is_valid(proof, **{"x-service-api-key": gate.tenant.key})
    assert not gate.is_valid(proof, **{"x-service-api-key": other.tenant.key})
    assert other.shown(proof, "/secret", "192.0.2.32")["action"]["type"] == "challenge"


@pytest.mark.parametrize("change", [lambda text: text[:-2], lambda text: text[::-1], lambda _: "x"])
def test_a_changed_proof_is_none(gate: Gate, change: object) -> None:
    """Cut, turned round, made up: the answer is the same plain no."""
    assert callable(change)
    assert not gate.is_valid(change(gate.proof("192.0.2.33")))


def test_a_request_without_a_token_is_invalid(gate: Gate) -> None:
    """A body without a token is refused with 422, not answered as a bad proof."""
    answer = gate.http.post("/api/v1/challenge/proof/verify", json={})
    assert answer.status_code == 422


def test_another_client_does_not_pass(gate: Gate) -> None:
    """A proof is bound to the network it was made for, with one change."""
    proof = gate.proof("192.0.2.34")
    answers = [
        gate.shown(proof, "/secret", address)["action"]["type"]
        for address in ("192.0.2.34", "198.51.100.1", "203.0.113.1")
    ]
    assert answers == ["allow", "allow", "challenge"]


def test_the_self_test_says_what_is_missing(gate: Gate) -> None:
    """A service on this machine alone is red, with the reason and the setting that mends it."""
    found = gate.tenant.get("challenge/self-test", role="Viewer")
    assert found["status"] == "red"
    assert any("server.public_url" in reason for reason in found["reasons"])


def test_results_count_challenges(gate: Gate) -> None:
    """Challenges issued and solved are counted for the tenant."""
    gate.proof("192.0.2.35")
    found = gate.tenant.get("results/challenges", role="Viewer")
    counted = found["providers"][0]
    assert counted["issued"] >= counted["solved"] >= 1
    assert found["passes_alive"] >= 1
