"""Proofs of challenges through a whole service: decided, recorded, explained, revoked, replayed."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from tests.server.deciding import DEFINITIONS, Deciding, deciding

from tidegate.policy.proofs import ProofKeys
from tidegate_server.engines.engines import proof_keys_of
from tidegate_server.operators.keys import load_keys
from tidegate_server.stores.decision_log import decisions, log
from tidegate_server.stores.rows.connections import reading_engine

AGENT = "Mozilla/5.0"
HALF_HOUR = 1_800 * 10**9
CHALLENGING = {
    **DEFINITIONS,
    "policies": [
        *DEFINITIONS["policies"],
        {"name": "Ask", "priority": 300, "clauses": [{"name": "all", "mitigation": "prove"}]},
    ],
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Deciding]:
    with deciding(tmp_path_factory.mktemp("proofs")) as service:
        yield service.tenant(CHALLENGING)


def keys(shop: Deciding) -> ProofKeys:
    return proof_keys_of(UUID(shop.tenant_id), load_keys(shop.service.directory / "keys"))


def token(shop: Deciding, pass_id: UUID, address: str) -> str:
    made, now = keys(shop), time.time_ns()
    client = made.client(address, AGENT)
    return made.mint(pass_id, uuid4(), now, now + HALF_HOUR, client)


def decide(shop: Deciding, shown: str | None, address: str, path: str = "/") -> dict[str, Any]:
    cookies = {} if shown is None else {"service_challenge": shown}
    request = {"user_agent": AGENT, "cookies": cookies}
    return shop.decide(path, address, request=request)


def recorded(shop: Deciding, answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = shop.get(f"decisions/{answer['decision_id']}")
    return found


def explained(shop: Deciding, answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = shop.get(f"decisions/{answer['decision_id']}/explain")
    return found


def test_a_proof_is_the_answer_and_no_token_is_kept(shop: Deciding) -> None:
    """The record says what was found; what is kept of the event has a hash for the token."""
    pass_id, address = uuid4(), "192.0.2.10"
    shown = token(shop, pass_id, address)
    challenged, allowed = decide(shop, None, address), decide(shop, shown, address)
    assert challenged["action"]["type"] == "challenge"
    assert allowed == {
        "action": {"type": "allow"},
        "reason": "challenge-proof",
        "decision_id": allowed["decision_id"],
    }
    record = recorded(shop, allowed)
    assert record["proof"]["status"] == "valid"
    assert record["proof"]["pass_id"] == str(pass_id)
    assert (record["proof"]["network"], record["proof"]["differs"]) == ("192.0.2.0/24", [])
    assert recorded(shop, challenged)["proof"] is None
    assert shown not in orjson.dumps(record).decode()
    assert shop.get("decisions", reason="challenge-proof")[0]["action"] == "allow"


def test_a_block_revokes_the_pass_and_explanations_repeat_it(shop: Deciding) -> None:
    """Three logins with a proof: the third fires the Block, the next request meets it."""
    address = "192.0.2.11"
    shown = token(shop, uuid4(), address)
    answers = [decide(shop, shown, address, "/login") for _ in range(4)]
    assert [each["action"]["type"] for each in answers] == ["allow"] * 3 + ["block"]
    found = [recorded(shop, each)["proof"]["status"] for each in answers]
    assert found == ["valid"] * 3 + ["revoked"]
    for answer in answers:
        explanation = explained(shop, answer)
        assert explanation["reproduced"], explanation["because"]
        assert explanation["decision"]["proof"] == explanation["recorded"]["proof"]
    assert "a proof of a challenge" in explanation["text"]


def test_a_simulation_reads_the_proof_of_its_event(shop: Deciding) -> None:
    """The token of a live event is verified, and the state knows whether its pass is revoked."""
    address = "192.0.2.12"
    shown = token(shop, uuid4(), address)
    request = {"path": "/", "client_ip": address, "user_agent": AGENT}
    event = {"request": {**request, "query_params": {"service_challenge_proof": shown}}}
    path = f"{shop.path}/policies/{shop.ids('policies')['ask']}/simulate"

    def reason() -> str:
        answer = shop.by("Owner").post(path, {"event": event})
        assert answer.is_success, answer.text
        return str(answer.json()["decision"]["reason"])

    assert reason() == "challenge-proof"
    for _ in range(3):
        decide(shop, shown, address, "/login")
    assert reason() == "active-mitigation"


def test_a_replay_decides_by_the_passes_of_its_draft(shop: Deciding) -> None:
    """By the same definitions everything is the same, revoked passes included."""
    now = time.time_ns()
    period = {"since": "2020-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z"}
    job = shop.by("Owner").post(f"{shop.path}/replay-jobs", period).json()
    while job["status"] in ("queued", "running"):
        assert time.time_ns() - now < 60 * 10**9, job
        time.sleep(0.05)
        job = shop.get(f"replay-jobs/{job['replay_job_id']}")
    assert job["status"] == "done", job
    assert job["result"]["different"] == 0, job["result"]


def test_the_line_of_a_challenge_has_its_exact_return_url_sealed(shop: Deciding) -> None:
    """The record has the URL without its secrets; only the keys of the tenant open the other."""
    url = "http://shop.test/cart?token=sesame"
    answer = shop.decide("/", "192.0.2.13", return_url=url, request={"user_agent": AGENT})
    assert answer["action"]["type"] == "challenge"
    decision_id = UUID(answer["decision_id"])
    engine = reading_engine(shop.service.directory / "tidegate.db")
    with engine.connect() as connection:
        found = decisions.find(connection, UUID(shop.tenant_id), decision_id)
        logged = log.read(connection, found.seq, UUID(shop.tenant_id)).decision()
    engine.dispose()
    assert logged.sealed is not None
    assert b"sesame" not in logged.record + logged.event + logged.sealed
    context = keys(shop).open(decision_id, logged.sealed)
    assert context is not None
    assert (context.return_url, context.client) == (url, keys(shop).client("192.0.2.13", AGENT))
    assert urlsafe_b64encode(logged.sealed).decode().rstrip("=") not in str(recorded(shop, answer))


def test_revocations_survive_a_kill(tmp_path: Path, process: None) -> None:
    """A pass that a Block revoked is still revoked after a start from the log."""
    address = "192.0.2.14"
    with deciding(tmp_path / "data") as service:
        shop = service.tenant(CHALLENGING)
        shown = token(shop, uuid4(), address)
        for _ in range(3):
            decide(shop, shown, address, "/login")
        service.process.kill()
    with deciding(tmp_path / "data") as again:
        shop.service = again
        answer = decide(shop, shown, address)
        assert answer["action"]["type"] == "block"
        assert recorded(shop, answer)["proof"]["status"] == "revoked"
