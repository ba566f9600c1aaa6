"""Findings about signatures are put into events before the decision, and recorded with them."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import attrs
import msgspec
import orjson
import pytest
from tests.server.deciding import Deciding, Service
from tests.signing import WELL_KNOWN, Agent
from tests.waiting import wait_until

from tidegate_server.hot.hot_path import BEACON, RUNTIME
from tidegate_server.hot.signed_calls import Signatures, is_signed, signed_among
from tidegate_server.signatures.directory import Directories, Directory
from tidegate_server.turns.call import Endpoint

AGENT = Agent()
ACCEPTED = Directories((Directory(AGENT.origin + WELL_KNOWN, "Shopper", (AGENT.entry,)),))
NOW = 1_790_000_000
SECOND_NS = 1_000_000_000


@attrs.frozen
class Accepting:
    """A tenant that accepts the agent."""

    tenant_id: Any = attrs.field(factory=uuid4)
    directories: Directories = ACCEPTED


@attrs.define
class Sent:
    """A call as the queue has it."""

    body: bytes
    endpoint: Endpoint = RUNTIME


def event(*, created: int = NOW, **members: Any) -> dict[str, Any]:
    headers = AGENT.headers(authority="shop.example", created=created, nonce="n", path="/a")
    request = {"method": "GET", "host": "shop.example", "path": "/a", "headers": dict(headers)}
    return {"request": request, **members}


def finding(
    signatures: Signatures, tenant: Any, sent: dict[str, Any], endpoint: Endpoint = RUNTIME
) -> Any:
    """The finding of an event; everything else stays as it was sent."""
    call: Any = Sent(orjson.dumps(sent, option=orjson.OPT_INDENT_2), endpoint)
    signatures.find(tenant, [call], (NOW + 1) * SECOND_NS)
    after = orjson.loads(call.body)
    assert {**after, "agent": None} == {**sent, "agent": None}
    return after.get("agent")


@pytest.fixture
def signatures() -> Signatures:
    """The signatures of a process that began a minute ago."""
    return Signatures((NOW - 60) * SECOND_NS)


def test_a_finding_is_put_into_the_event_once(signatures: Signatures) -> None:
    """The first event with a nonce is proven, and the second one is a replay."""
    tenant = Accepting()
    assert finding(signatures, tenant, event())["product"] == "Shopper"
    assert finding(signatures, tenant, event())["signature_problem"] == "replayed"


def test_a_number_that_no_double_holds_hides_no_signature(signatures: Signatures) -> None:
    """The event is accepted, so what its signature proves is said, or that it can't be read."""
    tenant = Accepting()
    for text, expected in (
        (b'"other": 1e999', {"product": "Shopper"}),
        (b'"fields": {"n": 1e999}', {"signature_problem": "unreadable"}),
    ):
        sent = orjson.dumps(event())
        call: Any = Sent(b"{" + text + b"," + sent[1:])
        signatures.find(tenant, [call], (NOW + 1) * SECOND_NS)
        found = msgspec.json.decode(call.body, type=dict[str, msgspec.Raw])["agent"]
        assert expected.items() <= orjson.loads(bytes(found)).items()
        assert call.body.endswith(text + b"," + sent[1:])


def test_tenants_and_endpoints_have_nonces_of_their_own(signatures: Signatures) -> None:
    """A request is proven once for each tenant, and once for its beacon."""
    one, other = Accepting(), Accepting()
    for tenant, endpoint in ((one, RUNTIME), (one, BEACON), (other, RUNTIME)):
        assert finding(signatures, tenant, event(), endpoint)["proof"] == "signature"


def test_a_call_that_comes_again_is_proven_again(signatures: Signatures) -> None:
    """A nonce may be used again by a call with the same idempotency key, and by no other."""
    tenant = Accepting()
    for key, proof in (("k", "signature"), ("k", "signature"), ("l", None)):
        assert finding(signatures, tenant, event(idempotency_key=key)).get("proof") == proof


def test_signatures_of_an_earlier_process_are_not_accepted() -> None:
    """After a start a nonce may be known to another process alone, so it proves nothing yet."""
    began = Signatures(NOW * SECOND_NS)
    assert finding(began, Accepting(), event())["signature_problem"] == "replayed"


@pytest.mark.parametrize(
    "sent",
    [
        {"request": {"headers": {"accept": "signature-input"}}},
        {"request": {"headers": ["signature-input"]}},
        {"request": "signature-input"},
        {**event(), "agent": {"proof": "dns", "product": "x"}},
        {**event(), "agent": None},
    ],
)
def test_other_events_stay_as_they_were_sent(sent: dict[str, Any], signatures: Signatures) -> None:
    """Events without a signature, with a finding, or of a wrong form stay as they are."""
    body = orjson.dumps(sent)
    call: Any = Sent(body)
    signatures.find(Accepting(), [call], NOW * SECOND_NS)  # type: ignore[arg-type]
    assert call.body == body


def test_tenants_that_accept_no_keys_pay_nothing() -> None:
    """The events of a tenant without lists of keys aren't searched."""
    calls: Any = [Sent(orjson.dumps(event())), Sent(b"{}")]
    accepting: Any = Accepting()
    others: Any = Accepting(directories=Directories())
    assert signed_among(accepting, calls) == calls[:1]
    assert not signed_among(others, calls)


def test_signed_requests_are_found_in_any_case_of_letters() -> None:
    """The name of the header is found in any case of letters."""
    for name in ("Signature-Input", "signature-input", "SIGNATURE-iNPUT"):
        assert is_signed(orjson.dumps({"request": {"headers": {name: "x"}}}))
    assert not is_signed(orjson.dumps({"request": {"headers": {"signature": "x"}}}))


DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "lists": [AGENT.named_list],
    "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 0}],
    "policies": [
        {
            "name": "Agents",
            "expression": 'agent.proof != "signature"',
            "clauses": [{"name": "others", "mitigation": "refuse"}],
        }
    ],
}


def decide(shop: Deciding, nonce: str, **members: Any) -> dict[str, Any]:
    created = int(time.time())
    headers = AGENT.headers(authority="shop.example", created=created, nonce=nonce, path="/a")
    request = {"host": "shop.example", "headers": dict(headers)}
    return shop.decide("/a", request=request, **members)


@pytest.fixture(scope="module")
def strict(service: Service) -> Deciding:
    """A tenant that lets signed requests through."""
    shop = service.tenant(DEFINITIONS)
    wait_until(lambda: decide(shop, str(uuid4()))["action"]["type"] == "allow")
    return shop


def test_findings_are_recorded_and_explained_without_keys(strict: Deciding) -> None:
    """Recorded decisions have their findings, by which they are repeated and explained."""
    proven = decide(strict, "one")
    replayed = decide(strict, "one")
    assert (proven["action"]["type"], replayed["action"]["type"]) == ("allow", "block")
    places = [f"decisions/{each['decision_id']}" for each in (proven, replayed)]
    found = [strict.get(place)["event"]["agent"] for place in places]
    assert found[0] == {
        "proof": "signature", "operator": "agent.example", "product": "Shopper",
        "purpose": "other",
    }  # fmt: skip
    assert found[1] == {"signature_problem": "replayed", "claims": "https://agent.example"}
    for place in places:
        explained = strict.get(f"{place}/explain")
        assert explained["reproduced"], explained["because"]
        assert "agent.proof" in explained["text"]


def test_a_call_that_comes_again_gets_its_first_answer(strict: Deciding) -> None:
    """A signed call with an idempotency key that comes again isn't taken for another body."""
    event = {"idempotency_key": str(uuid4()), "nonce": str(uuid4())}
    created = int(time.time())
    headers = AGENT.headers(
        authority="shop.example", created=created, nonce=event["nonce"], path="/a"
    )
    request = {"host": "shop.example", "headers": dict(headers)}
    answers = [
        strict.decide("/a", request=request, idempotency_key=event["idempotency_key"])
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert answers[0]["action"]["type"] == "allow"
