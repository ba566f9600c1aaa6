"""Proofs through every integration: good ones pass and clean up, all others do not."""

from __future__ import annotations

import re
import time
from uuid import UUID, uuid4

import pytest
from tests.integrations.asking import BROWSER, ask
from tests.integrations.edges import Edge
from tests.server.deciding import Deciding
from tests.shared_data import shared_lines

from tidegate_server.engines.engines import proof_keys_of
from tidegate_server.operators.keys import load_keys

PAGE = b"A small site"
GATE = "/challenged"
HOUR = 3_600_000_000_000
HERE = "127.0.0.1"


def address_seen(edge: Edge, shop: Deciding) -> str:
    """The address that a visitor on this machine has to the service."""
    problem = ask(edge.base_url, GATE, {"accept": "*/*"}).json()
    decision = shop.get(f"decisions/{problem['redirect_url'].rpartition('/')[2]}")
    forwarded = decision["event"]["request"]["headers"].get("x-forwarded-for", HERE)
    return str(forwarded).rpartition(",")[2].strip()


class Mint:
    """Makes proofs as the service does, with its own keys."""

    def __init__(self, edge: Edge, shop: Deciding) -> None:
        self._keys = load_keys(shop.service.directory / "keys")
        self.tenant = UUID(shop.tenant_id)
        self._address = address_seen(edge, shop)

    def proof(
        self,
        *,
        tenant: UUID | None = None,
        agent: str = BROWSER["user-agent"],
        age: int = 0,
        pass_id: UUID | None = None,
    ) -> str:
        """One that is good for an hour."""
        keys = proof_keys_of(tenant or self.tenant, self._keys)
        client = keys.client(self._address, agent)
        issued = time.time_ns() - age
        return keys.mint(pass_id or uuid4(), uuid4(), issued, issued + HOUR, client)


@pytest.fixture
def mint(edge: Edge, shop: Deciding) -> Mint:
    """A mint for the tenant and a visitor of the integration."""
    return Mint(edge, shop)


def through(edge: Edge, proof: str) -> tuple[int, int]:
    """The statuses at the gate: with a proof in the query, and in the cookie."""
    query = ask(edge.base_url, f"{GATE}?service_challenge_proof={proof}")
    assert PAGE not in query.body
    cookie = ask(edge.base_url, GATE, BROWSER | {"cookie": f"service_challenge={proof}"})
    assert (PAGE in cookie.body) == (cookie.status == 200)
    return query.status, cookie.status


def test_a_good_proof_passes(edge: Edge, mint: Mint) -> None:
    """From the query to the cookie and the clean address; with the cookie, to the site."""
    proof = mint.proof()
    seen = ask(edge.base_url, f"{GATE}/a%20b//?x=%2F&service_challenge_proof={proof}&y")
    assert seen.status == 307
    # Envoy merges slashes before it asks, as the site behind it sees the address.
    slashes = "/" if edge.name == "envoy" else "//"
    assert seen.header("location") == f"{edge.base_url}{GATE}/a%20b{slashes}?x=%2F&y"
    cookie = f"service_challenge={proof}; Path=/; Secure; HttpOnly; SameSite=Lax"
    assert seen.header("set-cookie") == cookie
    assert seen.header("referrer-policy") == "no-referrer"
    assert seen.header("cache-control") == "no-store"
    assert through(edge, proof) == (307, 200)


def test_a_form_keeps_its_method(edge: Edge, mint: Mint) -> None:
    """A client asks again with its body."""
    target = f"{GATE}?service_challenge_proof={mint.proof()}"
    assert ask(edge.base_url, target, method="POST", body=b"a=b").status == 307


def test_other_proofs_do_not_pass(edge: Edge, mint: Mint) -> None:
    """Expired, of another tenant, of another client, changed, cut short, or no proof at all."""
    good = mint.proof()
    others = {
        "expired": mint.proof(age=2 * HOUR),
        "other tenant": mint.proof(tenant=uuid4()),
        "other client": mint.proof(agent="curl/8"),
        "changed": good[:40] + ("A" if good[40] != "A" else "B") + good[41:],
        "cut": good[:-1],
        "padded": good + "%3D",
        "no proof": "undefined",
    }
    found = {name: through(edge, proof) for name, proof in others.items()}
    assert found == dict.fromkeys(others, (403, 302))


def test_a_good_cookie_does_not_help_a_bad_proof(edge: Edge, mint: Mint) -> None:
    """A proof in the query is verified alone, without the cookie."""
    headers = BROWSER | {"cookie": f"service_challenge={mint.proof()}"}
    seen = ask(edge.base_url, "/free?service_challenge_proof=undefined", headers)
    assert (seen.status, seen.header("set-cookie")) == (403, None)


def test_of_two_cookies_of_its_name_the_first_valid_one_counts(edge: Edge, mint: Mint) -> None:
    """A good one behind one bad one passes, and behind two it does not."""
    good, bad = (f"service_challenge={each}" for each in (mint.proof(), "undefined"))
    rows = (((good, bad), 200), ((bad, good), 200), ((good, good), 200), ((bad, bad, good), 302))
    for cookies, status in rows:
        once = BROWSER | {"cookie": "; ".join(cookies)}
        assert ask(edge.base_url, GATE, once).status == status, cookies
        twice = [*BROWSER.items(), *(("cookie", each) for each in cookies)]
        # A server may refuse such a request, or make one value of both, which isn't a proof.
        assert ask(edge.base_url, GATE, twice).status in (status, 302, 400), cookies


def test_hostile_cookies_do_not_pass(edge: Edge, mint: Mint, shop: Deciding) -> None:
    """No other cookie is read as the proof, and no other secret is taken for one."""
    secrets = {
        "PROOF": mint.proof(),
        "PROOF_OTHER_TENANT": mint.proof(tenant=uuid4()),
        "PROOF_EXPIRED": mint.proof(age=2 * HOUR),
        "PROOF_USED_ONCE": mint.proof(),
        "PROOF_TRUNCATED": mint.proof()[:-2],
        "API_KEY": shop.key,
        "BAD": "undefined",
    }
    good = {secrets["PROOF"], secrets["PROOF_USED_ONCE"]}
    for line in shared_lines("data/adversarial/cookies/cookie_header.jsonl"):
        text = re.sub(r"\{([A-Z_]+)\}", lambda found: secrets[found[1]], line["header"])
        found = [pair.partition("=") for pair in text.split(";")]
        own = [value.strip() for name, _, value in found if name.strip() == "service_challenge"]
        status = 200 if good.intersection(own[:2]) else 302
        seen = ask(edge.base_url, GATE, BROWSER | {"cookie": text})
        # A request that a server refuses by itself does not pass either.
        assert seen.status in (status, 400, 431, 502), line


def test_with_a_good_cookie_no_challenge_is_decided_on(
    edge: Edge, mint: Mint, shop: Deciding
) -> None:
    """Each request is recorded as allowed because of the proof."""
    headers = BROWSER | {"cookie": f"service_challenge={mint.proof()}"}
    mark = f"{GATE}/{uuid4()}"
    for _ in range(3):
        assert ask(edge.base_url, mark, headers).status == 200
    recorded = shop.get("decisions", path=mark)
    assert {(each["action"], each["reason"]) for each in recorded} == {("allow", "challenge-proof")}
    assert len(recorded) == 3
