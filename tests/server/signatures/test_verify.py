"""The signatures of a request prove an agent, or say why not."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import http_sf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.shared_data import shared_path
from tests.signing import COMPONENTS, WELL_KNOWN, Agent

from tidegate_server.signatures.directory import Directories, Directory
from tidegate_server.signatures.message import Message
from tidegate_server.signatures.verify import find

NOW = 1_790_000_000
AGENT = Agent()
OTHER = Agent("https://other.example")
ACCEPTED = Directories(
    (
        Directory(AGENT.origin + WELL_KNOWN, "Shopper", (AGENT.entry,)),
        Directory(OTHER.origin + WELL_KNOWN, "Other", (OTHER.entry,)),
    )
)
PROVEN = {
    "proof": "signature", "operator": "agent.example", "product": "Shopper", "purpose": "other",
}  # fmt: skip


def found(
    headers: Mapping[str, Any],
    *,
    accepted: Directories = ACCEPTED,
    now: float = NOW,
    first: bool = True,
    body: str | None = None,
    **request: Any,
) -> dict[str, str] | None:
    members = {"method": "GET", "scheme": "https", "host": "shop.example", "path": "/a?b=c"}
    message = Message({**members, "headers": headers, **request}, body)
    return find(message, accepted, now, lambda *_: first)


def signed(agent: Agent = AGENT, **params: Any) -> Mapping[str, str]:
    return agent.headers(
        **{"authority": "shop.example", "created": NOW - 5, "path": "/a", **params}
    )


def problem(headers: Mapping[str, Any], **more: Any) -> str:
    """The problem of headers that prove nothing."""
    result = found(headers, **more)
    assert result is not None
    assert "proof" not in result
    return result["signature_problem"]


def test_a_signed_request_is_proven() -> None:
    """A signature of an accepted agent over authority, method and path proves the agent."""
    assert found(signed()) == PROVEN
    assert found(signed(nonce="n")) == PROVEN
    assert found({name.title(): [value] for name, value in signed().items()}) == PROVEN


def vectors() -> list[dict[str, Any]]:
    names = ("architecture_v1.json", "architecture_v2.json")
    folder = shared_path("conformance/web-bot-auth")
    return [each for name in names for each in json.loads((folder / name).read_text())]


def entry_of(key: Mapping[str, str]) -> str:
    names = ("crv", "kty", "x") if key["kty"] == "OKP" else ("e", "kty", "n")
    return json.dumps({name: key[name] for name in names}, separators=(",", ":"))


def of_vector(vector: Mapping[str, Any]) -> tuple[dict[str, str], Directories]:
    headers = {"signature-input": vector["signature_input"], "signature": vector["signature"]}
    if "signature_agent" in vector:
        headers["signature-agent"] = vector["signature_agent"]
    url = "https://signature-agent.test" + WELL_KNOWN
    return headers, Directories((Directory(url, "Test", (entry_of(vector["key"]),)),))


@pytest.mark.parametrize("vector", vectors())
def test_published_vectors_are_proven(vector: dict[str, Any]) -> None:
    """Each vector of the draft is proven while it is valid, and neither before nor afterwards."""
    headers, accepted = of_vector(vector)
    made, ends = vector["created_ms"] / 1000, vector["expires_ms"] / 1000
    shown = {"accepted": accepted, "host": "example.com", "path": "/path/to/resource"}
    valid = found(headers, now=made + 1, **shown)
    assert valid is not None
    assert valid["proof"] == "signature"
    assert problem(headers, now=ends, **shown) == "expired"
    assert problem(headers, now=made - 11, **shown) == "not-yet-valid"
    assert problem(headers, now=made + 1, **{**shown, "host": "example.org"}) == "wrong-signature"


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"expires": NOW}, "expired"),
        ({"expires": NOW - 6}, "expired"),
        ({"created": NOW + 11}, "not-yet-valid"),
        ({"components": ("@method", "signature-agent")}, "target-not-covered"),
        ({"components": ("@authority",)}, "agent-not-covered"),
        ({"authority": "shop.example:444"}, "wrong-signature"),
        ({"authority": "foreign.example"}, "wrong-signature"),
        ({"path": "/other"}, "wrong-signature"),
        ({"method": "POST"}, "wrong-signature"),
        ({"keyid": OTHER.key_id}, "unknown-key"),
        ({"keyid": "x"}, "unknown-key"),
        ({"alg": "rsa-pss-sha512"}, "unsupported-algorithm"),
        ({"components": (*COMPONENTS, "@method")}, "unreadable"),
    ],
)
def test_signatures_that_prove_nothing(params: dict[str, Any], expected: str) -> None:
    """A signature that is outdated, foreign, or doesn't cover enough says why it proves nothing."""
    assert problem(signed(**params)) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("signature-input", "sig=(", "unreadable"),
        ("signature-input", 'sig=("@authority");tag="web-bot-auth"', "missing-parameter"),
        ("signature", "sig=abc", "unreadable"),
        ("signature", "other=:AAAA:", "unreadable"),
        ("signature", "sig=:AAAA:, sig=:AAAA:", "unreadable"),
        ("signature", "sig=:AAAA:", "wrong-signature"),
        ("signature-agent", "sig=token", "unreadable"),
        ("signature-agent", 'sig="http://agent.example"', "unreadable"),
        ("signature-agent", 'sig="https://agent.example/x"', "unknown-agent"),
        ("signature-agent", 'sig="https://other.example"', "unknown-key"),
        ("signature-agent", 'sig="https://evil.example"', "unknown-agent"),
        ("signature-agent", 'sig="https://agent.example";a=1', "absent-component"),
        ("signature-agent", 'x="https://agent.example"', "absent-component"),
        ("signature-agent", f'sig="https://{"a" * 9_000}"', "unreadable"),
    ],
)
def test_headers_that_prove_nothing(name: str, value: str, expected: str) -> None:
    """Headers that can't be read, or name another agent, say why they prove nothing."""
    assert problem({**signed(), name: value}) == expected


def test_headers_without_their_agent_or_signature_prove_nothing() -> None:
    """A header that the signature covers has to be there, and so has the signature itself."""
    assert problem({**signed(), "signature-agent": None}) == "absent-component"
    assert problem({"signature-input": signed()["signature-input"]}) == "absent-component"


def test_signatures_for_other_ends_are_left_alone() -> None:
    """A signature with another tag isn't of an agent, so nothing is found of it."""
    assert found(signed(tag="payments")) is None


def test_a_nonce_that_was_used_before_proves_nothing() -> None:
    """A request that is sent again is a replay if its signature has a nonce."""
    assert problem(signed(nonce="n"), first=False) == "replayed"
    assert found(signed(), first=False) == PROVEN


def test_a_key_of_several_directories_names_none_of_them() -> None:
    """Without `Signature-Agent`, a key that two addresses publish names no agent."""
    twice = (*ACCEPTED.all, Directory("https://copy.example/keys", "Copy", (AGENT.entry,)))
    headers = {**signed(components=("@authority",)), "signature-agent": None}
    assert found(headers) == PROVEN
    assert problem(headers, accepted=Directories(twice)) == "several-directories"


def test_a_claim_is_reported_with_the_problem() -> None:
    """The address that a request names is a claim, and no key is fetched from it."""
    result = found({**signed(), "signature-agent": 'sig="https://evil.example"'})
    assert result == {"signature_problem": "unknown-agent", "claims": "https://evil.example"}


@pytest.mark.parametrize("host", ["shop.example", "SHOP.example:443"])
def test_the_authority_is_compared_in_its_normal_form(host: str) -> None:
    """Upper case and the default port of the scheme don't change the authority."""
    assert found(signed(), host=host) == PROVEN
    assert problem(signed(), host=host, scheme="http", path="/b") == "wrong-signature"


def test_a_covered_digest_is_compared_with_the_body() -> None:
    """A covered digest proves a body only if the body is known and has this digest."""
    body = '{"a":1}'
    digest = sha256(body.encode()).digest()
    text = f"sha-256=:{b64encode(digest).decode()}:"
    components = (*COMPONENTS, "content-digest")
    own = signed(components=components, others={"content-digest": text})
    headers = {**own, "content-digest": text}
    assert found(headers, body=body) == PROVEN
    assert problem(headers, body=body + " ") == "wrong-digest"
    assert problem(headers) == "unsupported-component"


def changed(text: str) -> list[str]:
    """A text with each of its characters changed, removed and doubled."""
    other = {at: "A" if text[at] != "A" else "B" for at in range(len(text))}
    return [
        text[:at] + new + text[at + 1 :]
        for at in range(len(text))
        for new in (other[at], "", text[at] * 2)
    ]


def means(headers: Mapping[str, str]) -> Any:
    """The content of headers; a change of their form alone isn't one of their content."""
    return {
        name: http_sf.parse(value.encode(), tltype="dictionary") for name, value in headers.items()
    }


@pytest.mark.parametrize("name", ["signature-input", "signature", "signature-agent"])
def test_every_change_of_a_signed_header_is_refused(name: str) -> None:
    """No change of one character in the headers of a signature leaves it valid."""
    headers = signed(nonce="n")
    plain = means(headers)
    refused = 0
    for text in changed(headers[name]):
        result = found({**headers, name: text})
        if result is not None and "proof" in result:
            assert means({**headers, name: text}) == plain, text
        else:
            refused += 1
    assert refused > 2 * len(headers[name])


@pytest.mark.parametrize("member", ["host", "path", "method"])
def test_every_change_of_a_signed_request_is_refused(member: str) -> None:
    """No change of one character in what the signature covers leaves it valid."""
    plain = {"host": "shop.example", "path": "/a", "method": "GET"}
    for text in changed(plain[member]):
        if member == "host" and text.lower() == plain[member]:
            continue  # names of hosts have no case
        assert problem(signed(nonce="n"), **{**plain, member: text}) in (
            "wrong-signature", "absent-component",
        )  # fmt: skip


PIECES = st.sampled_from(
    ["sig=", "sig", "(", ")", '"@authority"', '"@path"', '"signature-agent"', '"content-digest"',
     ';key="sig"', ";key", ";sf", ";bs", ";name=\"a\"", '"@query-param"', ";created=1", ";expires=",
     "9999999999", "99999999999999999", ';tag="web-bot-auth"', f';keyid="{AGENT.key_id}"', ";nonce",
     ";nonce=@1659578233", ';nonce=%"f%c3%bc"', ";nonce=?1", ";nonce=1.5", ":AAAA:", "=:AAAA:",
     '="https://agent.example"', '"https://agent.example"', ", ", " ", ";", "é", "\x00", "*", "@1",
     "sha-256=:AA==:"]
)  # fmt: skip
VALUES = st.lists(PIECES, max_size=14).map("".join)


@settings(max_examples=400)
@given(
    st.fixed_dictionaries(
        {"signature-input": VALUES, "signature": VALUES, "signature-agent": VALUES},
        optional={"content-digest": VALUES, "Signature-Input": VALUES},
    ),
    st.booleans(),
)
def test_no_headers_are_proven_or_fail_by_chance(
    headers: dict[str, str], is_nearly_signed: bool
) -> None:
    """Whatever headers hold, they either prove nothing, or say why; nothing fails."""
    name = 'sig=("@authority");created=1;expires=9999999999;tag="web-bot-auth"'
    if is_nearly_signed:
        headers = {**headers, "signature-input": f'{name};keyid="{AGENT.key_id}"'}
    result = found(headers, body="x")
    assert result is None or "proof" not in result


def test_key_ids_are_thumbprints() -> None:
    """A key is found by the thumbprint of RFC 7638, as the keys of RFC 9421 have it."""
    directory = Directory("https://a.example", "x", (AGENT.entry, "no key", '{"kty":"EC"}'))
    digest = sha256(AGENT.entry.encode()).digest()
    assert list(directory.keys) == [urlsafe_b64encode(digest).rstrip(b"=").decode()]
