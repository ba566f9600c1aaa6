"""Challenges of a daemon, which visitors solve at the service, and proofs shown at the daemon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.hybrid.link import Link
from tests.hybrid.running import Daemon, Service, daemon, wait_for
from tools import plain_http

PATH = "/proved"
RETURN_URL = "https://shop.example.com/proved?page=2"
AGENT = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"


@pytest.fixture(scope="module")
def pair(
    origin: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Daemon, Link]]:
    """A daemon, and a policy that challenges; visitors may wait instead of solving."""
    settings = {"challenge_wait_seconds": 1, "return_url_origins": ["https://shop.example.com"]}
    origin.call("PATCH", "", {"settings": settings})
    challenge = {"name": "Prove", "mode": "Challenge", "ttl_seconds": 0}
    mitigation = origin.call("POST", "/mitigations", {**challenge, "challenge": {"difficulty": 1}})
    clause = {"name": "any", "mitigation_id": mitigation["mitigation_id"]}
    policy = {
        "name": "Prove",
        "status": "active",
        "priority": -1000,
        "expression": f'request.path == "{PATH}"',
        "clauses": [clause],
    }
    origin.call("POST", "/policies", policy)
    folder = tmp_path_factory.mktemp("proofs")
    with daemon(origin, folder, TIDEGATE_DAEMON_OFFLINE_SECONDS="3600") as made:
        yield made


def decided(site: Daemon, address: str, proof: str | None = None, path: str = PATH) -> Any:
    """The site's answer to a visitor, who may show a proof in the cookie."""
    request: dict[str, Any] = {
        "method": "GET",
        "path": path,
        "client_ip": address,
        "user_agent": AGENT,
    }
    if proof is not None:
        request["cookies"] = {"service_challenge": proof}
    return site.decide(path, address, request=request, return_url=RETURN_URL)


def solved(url: str) -> str:
    """The proof that a visitor gets at the address of a challenge."""
    page = wait_for(lambda: _page(url))
    assert page.status_code == 200
    path = url.partition("?")[0]

    def answer() -> Any:
        found = plain_http.post(f"{path}/solution", json={"method": "wait"}, timeout=10)
        return None if found.json().get("code") == "challenge-too-early" else found.json()

    found = wait_for(answer)
    assert found["redirect_url"].startswith(f"{RETURN_URL}&service_challenge_proof=")
    proof: str = found["proof"]
    return proof


def _page(url: str) -> httpx2.Response | None:
    """The page, once the service knows the decision."""
    found = plain_http.get(url, timeout=10)
    return None if found.status_code == 404 else found


def test_a_proof_passes_at_the_site_until_it_is_revoked(
    origin: Service, pair: tuple[Daemon, Link]
) -> None:
    """A good cookie passes, a changed one does not, and after a revocation none does."""
    site, _ = pair
    address = "203.0.113.21"
    challenged = decided(site, address)
    assert challenged["action"]["type"] == "challenge"
    proof = solved(challenged["action"]["challenge"]["redirect_url"])
    assert decided(site, address, proof)["reason"] == "challenge-proof"
    changed = ("A" if proof[40] != "A" else "B").join((proof[:40], proof[41:]))
    assert decided(site, address, changed)["action"]["type"] == "challenge"
    (made,) = [
        each
        for each in origin.call("GET", "/passes?limit=10")
        if each["challenge_id"] == challenged["decision_id"]
    ]
    origin.call("DELETE", f"/passes/{made['pass_id']}")
    wait_for(lambda: decided(site, address, proof)["action"]["type"] == "challenge")


def test_a_challenge_opens_before_its_decision_was_forwarded(pair: tuple[Daemon, Link]) -> None:
    """The visitor reaches the service while the site does not, and the proof passes at the site."""
    site, link = pair
    link.cut()
    address = "203.0.113.24"
    challenged = decided(site, address)
    url = challenged["action"]["challenge"]["redirect_url"]
    plain, _, ticket = url.partition("?ticket=")
    assert plain_http.get(plain, timeout=10).status_code == 404
    for wrong in (
        f"{ticket[:-9]}AAAAAAAAA",
        ticket[1:],
        "A",
        decided(site, address)["decision_id"],
    ):
        assert plain_http.get(f"{plain}?ticket={wrong}", timeout=10).status_code == 404
    other = decided(site, address)["action"]["challenge"]["redirect_url"].partition("?")[0]
    assert plain_http.get(f"{other}?ticket={ticket}", timeout=10).status_code == 404
    proof = solved(url)
    assert site.status()["spooled"] >= 1
    assert decided(site, address, proof)["reason"] == "challenge-proof"
    link.heal()
    wait_for(lambda: not site.status()["spooled"])
    assert plain_http.get(plain, timeout=10).status_code == 409


def test_a_pass_that_a_site_revokes_is_revoked_at_the_service(
    origin: Service, pair: tuple[Daemon, Link]
) -> None:
    """A Block behind a proof revokes its pass: there, at the service, and for daemons to come."""
    site, _ = pair
    address = "203.0.113.22"
    origin.make_policy("Trap", "/trap", 1, ttl=0)
    wait_for(lambda: site.decide("/trap", "203.0.113.23")["action"]["type"] == "block")
    challenged = decided(site, address)
    proof = solved(challenged["action"]["challenge"]["redirect_url"])
    assert decided(site, address, proof)["reason"] == "challenge-proof"
    revoking = decided(site, address, proof, "/trap")
    assert revoking["reason"] == "challenge-proof"
    assert decided(site, address, proof, "/trap")["action"]["type"] == "block"
    wait_for(lambda: not site.status()["spooled"])
    recorded = [each["decision_id"] for each in origin.decisions("/trap")]
    assert recorded.count(revoking["decision_id"]) == 1
    (made,) = [
        each
        for each in origin.call("GET", "/passes?limit=10")
        if each["challenge_id"] == challenged["decision_id"]
    ]
    effects = origin.sync("GET", "/snapshot").json()["effects"]
    assert made["pass_id"] in [each[1] for each in effects if each[0] == "revoke"]
