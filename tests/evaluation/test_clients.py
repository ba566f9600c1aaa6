"""The client of an event: both evaluators read every form of an address alike, or say why not."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.address_forms import AddressForm, address_forms

import tidegate
from tidegate.engine import Engine
from tidegate.evaluation.clients import PROBLEMS, client_of
from tidegate.evaluation.rules import Evaluator
from tidegate.functions.addresses import sent_address
from tidegate.values import unmapped
from tidegate_server.engines.serving import TenantEngine

FORMS = address_forms()
DOCUMENT = {
    "apiVersion": "tidegate/v1",
    "entities": [
        {
            "name": "Client",
            "match_expression": "true",
            "on_missing_key": "blank",
            "key_fields": ["request.client_ip", "derived.client_ip_problem"],
        }
    ],
    "mitigations": [{"name": "Refuse", "mode": "Block"}],
    "policies": [{"name": "Any", "clauses": [{"entity": "client", "mitigation": "refuse"}]}],
}


def test_the_corpus_is_large_enough() -> None:
    """There are more than 80 forms, some of each problem."""
    assert len(FORMS) > 80
    assert {form.problem for form in FORMS} == {"", *PROBLEMS}


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_an_address_is_read_or_it_is_said(evaluator: Evaluator, form: AddressForm) -> None:
    """A form that is certain gives its address; another one is marked, and the record says why."""
    document = {**DOCUMENT, "settings": {"trusted_proxies": list(form.trusted)}}
    engine = Engine(document, evaluator)
    event = {"request": form.request}
    for sent in (event, json.dumps(event).encode()):
        decision = engine.decide(sent)
        assert decision.entities[0].key == (form.address, form.problem)
        noted = None if form.problem in ("", "absent") else form.problem
        assert decision.client_ip_problem == noted
        assert decision.to_record().get("client_ip_problem") == noted
        # The record has the address unless the event has it in the same form.
        is_written = form.request.get("client_ip") == form.address
        named = None if is_written else form.address or None
        assert decision.client_ip == named
        assert decision.to_record().get("client_ip") == named


@pytest.mark.parametrize("evaluator", ["native", "reference"])
@pytest.mark.parametrize(
    ("settings", "is_kept"),
    [
        ({}, True),
        ({"redact": ["x-forwarded-for"]}, False),
        ({"redact": ["x_forwarded*", "!x-forwarded-for"]}, True),
        ({"keep_only_read": True}, True),
    ],
)
def test_an_address_of_a_header_that_the_tenant_hides_is_in_no_record(
    evaluator: Evaluator, settings: dict[str, object], is_kept: bool
) -> None:
    """A record has the address of a proxy's header only where the recorded event may have it."""
    engine = TenantEngine({**DOCUMENT, "settings": settings}, evaluator, redaction_key=b"k" * 32)
    behind = {"request": {"headers": {"X-Forwarded-For": "192.0.2.7"}}}
    assert engine.decide(behind).client_ip == ("192.0.2.7" if is_kept else None)
    named = {"request": {"client_ip": "::ffff:192.0.2.7"}}
    assert engine.decide(named).client_ip == "192.0.2.7"


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_six_logins_of_one_network_are_one_client(evaluator: Evaluator) -> None:
    """Addresses of one /64 share a window keyed by the network, and those of two don't."""
    document = {
        "apiVersion": "tidegate/v1",
        "entities": [{"name": "Client", "key_fields": ["derived.client_network"]}],
        "mitigations": [{"name": "Refuse", "mode": "Block"}],
        "policies": [
            {
                "name": "Many",
                "clauses": [
                    {
                        "entity": "client",
                        "mitigation": "refuse",
                        "window": {"duration_seconds": 60, "threshold": 3},
                    }
                ],
            }
        ],
    }
    engine = Engine(document, evaluator)

    def answers(*addresses: str) -> list[str]:
        return [engine.decide({"request": {"client_ip": each}}).action.type for each in addresses]

    of_one = [f"2001:db8:1:2::{number:x}" for number in range(1, 7)]
    assert answers(*of_one) == ["allow", "allow", "block", "block", "block", "block"]
    assert answers("2001:db8:1:3::1", "192.0.2.7", "192.0.2.8") == ["allow"] * 3


@pytest.mark.parametrize(
    ("client_ip", "network"),
    [
        ("192.0.2.7", "192.0.2.7/32"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("2001:DB8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::1", "::/64"),
        ("", ""),
        ("unknown", ""),
    ],
)
@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_the_network_of_a_client(evaluator: Evaluator, client_ip: str, network: str) -> None:
    """``derived.client_network`` is the address of IPv4, and of IPv6 the /64."""
    program = tidegate.compile("derived.client_network", evaluator=evaluator)
    assert program.evaluate({"request": {"client_ip": client_ip}}) == network


# --- any address, in any form ----------------------------------------------------------------

ADDRESSES = st.one_of(
    st.ip_addresses(v=4),
    st.ip_addresses(v=6),
    st.ip_addresses(v=4).map(lambda it: IPv6Address(f"::ffff:{it}")),
    st.sampled_from(["::", "::1", "fe80::1", "2001:db8::", "1::8", "0.0.0.0"]).map(ip_address),
)
PORTS = st.integers(0, 65_535).map(str)
BLANKS = st.text(" \t", max_size=2)


@st.composite
def spelt(draw: st.DrawFn) -> tuple[str, IPv4Address | IPv6Address]:
    """An address, and one of its certain spellings."""
    address = draw(ADDRESSES)
    texts = [str(address)]
    if isinstance(address, IPv6Address):
        texts += [address.exploded, str(address).upper()]
        if address.ipv4_mapped:
            texts.append(f"::ffff:{address.ipv4_mapped}")
    text = draw(st.sampled_from(texts))
    zone = ""
    if ":" in text:
        zone = draw(st.sampled_from(["", "", "%eth0", "%1", "%25en0"]))
    forms = [text + zone, f"[{text}{zone}]", f"[{text}{zone}]:{draw(PORTS)}"]
    if "." in text or (":" in text and "::" not in text and not zone):
        forms.append(f"{text}:{draw(PORTS)}")
    if not zone:
        forms.append(f"{text}/{address.max_prefixlen}")
    form = draw(st.sampled_from(forms))
    quote = draw(st.sampled_from(["", '"', "'"]))
    before, after = draw(BLANKS), draw(BLANKS)
    return f"{before}{quote}{form}{quote}{draw(st.sampled_from(['', ',']))}{after}", address


@settings(max_examples=1_000, deadline=None)
@given(spelt())
def test_every_spelling_of_an_address_is_read(pair: tuple[str, IPv4Address | IPv6Address]) -> None:
    """A generated spelling gives its address through both evaluators."""
    text, address = pair
    expected = str(unmapped(address))
    assert str(client_of(text, None, ()).address) == expected
    assert NATIVE.evaluate({"request": {"client_ip": text}}) == [expected, ""]


@settings(max_examples=1_000, deadline=None)
@given(
    st.lists(spelt().map(lambda it: it[0]) | st.text("0123456789abcf.:[]%/, \"'-x", max_size=24))
    .map(", ".join)
    .filter(lambda it: len(it) < 500),
    st.booleans(),
)
@example("192.0.2.7\x00", False)
@example("\u00a0192.0.2.7", False)
def test_a_text_has_an_address_or_a_problem(text: str, is_member: bool) -> None:
    """Whatever is sent, both evaluators agree, and never is the address empty in silence."""
    found = client_of(text if is_member else None, None if is_member else text, ())
    assert (found.address is None) is (found.problem is not None)
    request = {"client_ip": text} if is_member else {"headers": {"x-forwarded-for": text}}
    values = [str(found.address or ""), found.problem or ""]
    assert NATIVE.evaluate({"request": request}) == values


@settings(max_examples=1_000, deadline=None)
@given(st.text("0123456789abcdef.:[]%/\"'", max_size=40))
def test_a_certain_reading_keeps_the_address(text: str) -> None:
    """An address that is read is in the text as it stands, but for what surrounds it."""
    found = sent_address(text)
    if found is not None:
        assert sent_address(str(found)) == found
        bare = text.strip("\"' /").partition("%")[0]
        assert any(character in bare for character in ".:")


NATIVE = tidegate.compile("[request.client_ip, derived.client_ip_problem]")
