"""Proofs and sealed contexts: what was made is read, anything else is refused."""

from __future__ import annotations

import base64
import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared_data import shared_path

from tidegate.engine import Engine
from tidegate.evaluation.encoder import encode
from tidegate.limits import CLOCK_TOLERANCE
from tidegate.policy.proofs import (
    MAX_TOKEN_LENGTH,
    ChallengeContext,
    Client,
    ProofKeys,
    claimed_tenant,
    network_of,
)
from tidegate.policy.shown_proof import FIELDS, ShownProof, counting, shown_proofs
from tidegate.policy.state.passes import Passes

TENANT, OTHER = UUID(int=1), UUID(int=2)
KEYS = ProofKeys(TENANT, b"p" * 32, b"s" * 32)
ISSUED, EXPIRES = 1_800_000_000 * 10**9, 1_800_001_800 * 10**9
CLIENT = KEYS.client("198.51.100.7", "Mozilla/5.0")
TOKEN = KEYS.mint(UUID(int=7), UUID(int=8), ISSUED, EXPIRES, CLIENT)
CONTEXT = ChallengeContext("https://shop.example/cart?a=1&token=secret", CLIENT)


def content(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@given(
    pass_id=st.uuids(), challenge_id=st.uuids(),
    issued_at=st.integers(0, 2**62), expires_in=st.integers(1, 2**61),
    address=st.one_of(st.none(), st.ip_addresses().map(str), st.text()), agent=st.text(),
)  # fmt: skip
def test_a_token_is_read_as_it_was_made(
    pass_id: UUID, challenge_id: UUID, issued_at: int, expires_in: int,
    address: str | None, agent: str,
) -> None:  # fmt: skip
    """Whatever the client is, the finding has what the token was made of."""
    client, expires_at = KEYS.client(address, agent), issued_at + expires_in
    token = KEYS.mint(pass_id, challenge_id, issued_at, expires_at, client)
    assert len(token) <= MAX_TOKEN_LENGTH
    found = KEYS.read(token, issued_at)
    assert (found.status, found.pass_id, found.challenge_id) == ("valid", pass_id, challenge_id)
    assert (found.issued_at, found.expires_at, found.client) == (issued_at, expires_at, client)
    assert claimed_tenant(token) == TENANT


def test_a_token_is_good_from_its_issue_until_before_its_end() -> None:
    """Clocks may differ by five minutes; a clock that was set back further accepts nothing."""
    for at, status in (
        (ISSUED, "valid"),
        (ISSUED - CLOCK_TOLERANCE, "valid"),
        (ISSUED - CLOCK_TOLERANCE - 1, "expired"),
        (EXPIRES - 1, "valid"),
        (EXPIRES, "expired"),
        (0, "expired"),
        (2**63 - 1, "expired"),
    ):
        assert KEYS.read(TOKEN, at).status == status


def test_every_flipped_bit_is_refused() -> None:
    """No bit of a token can be changed, its name of the tenant included."""
    whole = content(TOKEN)
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        assert KEYS.read(text(bytes(flipped)), ISSUED).status in ("invalid", "foreign")


def test_every_other_length_is_refused() -> None:
    """A token that is cut short anywhere, or is longer, is invalid."""
    whole = content(TOKEN)
    for length in range(len(whole)):
        assert KEYS.read(text(whole[:length]), ISSUED).status == "invalid"
    for more in (b"\0", b"\0\0", b"\0\1a", whole):
        assert KEYS.read(text(whole + more), ISSUED).status == "invalid"
    for length in range(len(TOKEN)):
        assert KEYS.read(TOKEN[:length], ISSUED).status == "invalid"


@pytest.mark.parametrize(
    "spoilt",
    [
        "", "=", TOKEN + "=", TOKEN + "==", TOKEN + "\n", " " + TOKEN, TOKEN + "\0", f'"{TOKEN}"',
        TOKEN[:-1] + "+", TOKEN[:8] + "\n" + TOKEN[8:], TOKEN.swapcase(), TOKEN[::-1],
        TOKEN.replace("A", "%41"), TOKEN + "é", "\U0001f600" * 48, "A" * 10**6,
        base64.b64encode(content(TOKEN)).decode(), content(TOKEN).hex(),
        text(b"\2" + content(TOKEN)[1:]), text(b"\0" + content(TOKEN)[1:]),
        base64.b32encode(content(TOKEN)).decode(),
    ],
)  # fmt: skip
def test_there_is_one_text_of_a_token(spoilt: str) -> None:
    """The same bytes in another encoding, with padding, spaces or quotes, aren't a token."""
    assert KEYS.read(spoilt, ISSUED).status == "invalid"


def test_the_last_character_is_the_only_one_of_its_bits() -> None:
    """Bits that base64 leaves over are zero, so that no two texts are one token."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for last in alphabet.replace(TOKEN[-1], ""):
        assert KEYS.read(TOKEN[:-1] + last, ISSUED).status == "invalid"


def test_other_tenants_and_other_keys_are_refused() -> None:
    """The diagonal passes: each of five tenants under each of five keys reads its own alone."""
    keys = [
        ProofKeys(UUID(int=tenant), bytes([key]) * 32, b"s" * 32)
        for tenant, key in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1))
    ]
    for maker in keys:
        token = maker.mint(UUID(int=7), UUID(int=8), ISSUED, EXPIRES, CLIENT)
        for reader in keys:
            if reader is maker:
                expected = "valid"
            else:
                expected = "invalid" if reader.tenant == maker.tenant else "foreign"
            assert reader.read(token, ISSUED).status == expected


@given(st.one_of(st.text(), st.binary().map(text)))
def test_no_text_fails(anything: str) -> None:
    """Whatever is shown as a token is read without an exception, and refused."""
    assert KEYS.read(anything, ISSUED).status in ("invalid", "foreign")


def test_tokens_of_other_kinds_are_refused() -> None:
    """Published JSON web tokens, signed well or badly, aren't proofs."""
    path = shared_path("data/adversarial/jwt/wycheproof_json_web_signature_test.json")
    groups = json.loads(path.read_text())["testGroups"]
    tokens = [test["jws"] for group in groups for test in group["tests"]]
    assert len(tokens) > 10
    for token in tokens:
        shown = token if isinstance(token, str) else json.dumps(token)
        assert KEYS.read(shown, ISSUED).status == "invalid"


def test_a_client_is_a_network_and_a_hash() -> None:
    """Addresses of one network are one client; another user agent or tenant is another."""
    assert KEYS.client("198.51.100.250", "Mozilla/5.0") == CLIENT
    assert KEYS.client("198.51.101.7", "Mozilla/5.0").network == "198.51.101.0/24"
    assert KEYS.client("198.51.100.7", "mozilla/5.0").agent != CLIENT.agent
    assert KEYS.client(None, None) == KEYS.client("", "") == KEYS.client("nowhere", "")
    other = ProofKeys(OTHER, KEYS.proof_key, KEYS.sealing_key)
    assert other.client("198.51.100.7", "Mozilla/5.0").agent != CLIENT.agent
    long = "x" * 1_024
    assert KEYS.client(None, long + "a") == KEYS.client(None, long + "b")


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.9", "203.0.113.0/24"),
        ("::ffff:203.0.113.9", "203.0.113.0/24"),
        ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ("2001:db8::", "2001:db8::/48"),
        ("::1", "::/48"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff::/48"),
        ("fe80::1%eth0", None), ("203.0.113.009", None), ("", None), (" 203.0.113.9", None),
    ],
)  # fmt: skip
def test_a_network_has_one_text(address: str, network: str | None) -> None:
    """An address that is mapped into IPv6 counts as the one it is."""
    assert network_of(address) == network


@given(st.one_of(st.none(), st.text(max_size=3_000)), st.uuids())
def test_a_sealed_context_is_opened_for_its_decision(url: str | None, decision_id: UUID) -> None:
    """The exact URL comes back; no part of it can be read in what was sealed."""
    context = ChallengeContext(url, CLIENT)
    sealed = KEYS.seal(decision_id, context)
    assert KEYS.open(decision_id, sealed) == context
    assert KEYS.open(UUID(int=decision_id.int ^ 1), sealed) is None
    if url is not None and len(url) > 8:
        assert url.encode() not in sealed


def test_what_was_not_sealed_so_is_not_opened() -> None:
    """Each flipped bit, each other length, another tenant and another key are refused."""
    decision_id = UUID(int=9)
    sealed = KEYS.seal(decision_id, CONTEXT)
    for bit in range(8 * len(sealed)):
        flipped = bytearray(sealed)
        flipped[bit // 8] ^= 1 << bit % 8
        assert KEYS.open(decision_id, bytes(flipped)) is None
    for length in range(len(sealed)):
        assert KEYS.open(decision_id, sealed[:length]) is None
    assert KEYS.open(decision_id, sealed + b"\0") is None
    for other in (
        ProofKeys(OTHER, KEYS.proof_key, KEYS.sealing_key),
        ProofKeys(TENANT, KEYS.proof_key, b"t" * 32),
    ):
        assert other.open(decision_id, sealed) is None


def test_keys_and_secrets_are_not_shown() -> None:
    """The text of the objects, as logs and tracebacks have it, holds no key and no URL."""
    assert "ppp" not in repr(KEYS)
    assert "secret" not in repr(CONTEXT)
    assert "agent" not in repr(Client("198.51.100.0/24", b"a" * 16))


def agreed(
    token: str, at: int, client_ip: str | None = None, user_agent: str | None = None
) -> ShownProof | None:
    """The result of both for a token that a client shows."""
    request = {"client_ip": client_ip, "user_agent": user_agent}
    shown = {"request": {**request, "query_params": {"service_challenge_proof": token}}}
    found = Engine({"apiVersion": "tidegate/v1"}, "native", proof_keys=KEYS).decide(shown, at).proof
    record = encode(shown, FIELDS, variables={})
    assert found == counting(shown_proofs(KEYS, record, at), Passes(1))
    return found


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ADDRESSES = st.one_of(st.none(), st.ip_addresses().map(str), TEXTS)


@given(
    tenant=st.sampled_from([TENANT, TENANT, OTHER]), at=st.integers(0, 2**63 - 1),
    issued_at=st.integers(0, 2**63 - 1), expires_at=st.integers(0, 2**63 - 1),
    address=ADDRESSES, agent=TEXTS, cut=st.integers(0, 3),
)  # fmt: skip
def test_both_read_a_token_alike(
    tenant: UUID, at: int, issued_at: int, expires_at: int,
    address: str | None, agent: str, cut: int,
) -> None:  # fmt: skip
    """Both evaluators read a token of any tenant, client and time alike, whole or cut short."""
    keys = ProofKeys(tenant, KEYS.proof_key, KEYS.sealing_key)
    client = keys.client(address, agent)
    token = keys.mint(UUID(int=7), UUID(int=8), issued_at, expires_at, client)
    agreed(token[: len(token) - cut], at)


@given(st.one_of(TEXTS, st.binary().map(text)))
def test_both_refuse_any_other_text_alike(anything: str) -> None:
    """Neither takes a text for a token that the other does not."""
    agreed(anything, ISSUED)


def test_both_refuse_what_was_changed_alike() -> None:
    """Bit by bit, in the bytes and in the text."""
    whole = content(TOKEN)
    flipped = [
        text(bytes([*whole[:place], whole[place] ^ 1 << bit, *whole[place + 1 :]]))
        for place in range(len(whole))
        for bit in range(8)
    ]
    changed = [TOKEN[:place] + "~" + TOKEN[place + 1 :] for place in range(len(TOKEN))]
    for token in [*flipped, *changed]:
        agreed(token, ISSUED)


@given(
    ADDRESSES,
    st.one_of(
        st.none(), TEXTS, st.text(st.characters(codec="utf-8"), min_size=1_020, max_size=1_030)
    ),
)
def test_both_know_a_client_alike(address: str | None, agent: str | None) -> None:
    """A token is valid where it was bought, and its network and agent are those of the client."""
    token = KEYS.mint(UUID(int=7), UUID(int=8), ISSUED, EXPIRES, KEYS.client(address, agent))
    found = agreed(token, ISSUED, address, agent)
    assert found is not None
    assert (found.status, found.claim and found.claim.differs) == ("valid", ())
    agreed(token, ISSUED, "198.51.100.7", agent)
    agreed(token, ISSUED, address, "Mozilla/5.0")
