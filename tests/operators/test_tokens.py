"""Operator tokens: what is made is read, and every forgery is refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.shared_data import shared_lines, shared_path

from tidegate_server.operators.compact import MAX_BYTES, InvalidTokenError
from tidegate_server.operators.tokens import (
    LEEWAY_SECONDS,
    LIFETIME_SECONDS,
    Tokens,
)

SEED = bytes(range(32))
ISSUER = "https://tidegate.example.test"
USER = UUID("0190a5a0-0000-7000-8000-000000000001")
NOW = 1_790_000_000
JWT_DATA = "data/adversarial/jwt"


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.fixture
def tokens() -> Tokens:
    return Tokens(SEED, ISSUER)


def parts_of(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    header, claims, _ = text.split(".")
    return json.loads(decode(header)), json.loads(decode(claims))


def sign(header: bytes, payload: bytes) -> str:
    """A token of any content with a good signature."""
    text = f"{encode(header)}.{encode(payload)}"
    signature = Ed25519PrivateKey.from_private_bytes(SEED).sign(text.encode())
    return f"{text}.{encode(signature)}"


def resigned(tokens: Tokens, **claims: Any) -> str:
    header, made = parts_of(tokens.issue(USER, NOW))
    kept = {name: value for name, value in {**made, **claims}.items() if value is not ...}
    return sign(json.dumps(header).encode(), json.dumps(kept).encode())


def refused(tokens: Tokens, text: str, now: int = NOW) -> bool:
    try:
        tokens.read(text, now)
    except InvalidTokenError:
        return True
    return False


def test_a_new_token_says_who_and_until_when(tokens: Tokens) -> None:
    """A new token holds its operator and expiry, and has an id of its own."""
    claims = tokens.read(tokens.issue(USER, NOW), NOW)
    assert (claims.operator_id, claims.issued_at) == (USER, NOW)
    assert claims.expires_at == NOW + LIFETIME_SECONDS
    assert tokens.read(tokens.issue(USER, NOW), NOW).token_id != claims.token_id


def test_claims_and_header_are_those_of_the_documentation(tokens: Tokens) -> None:
    """Seven claims, three header parameters."""
    header, claims = parts_of(tokens.issue(USER, NOW))
    assert header == {"alg": "EdDSA", "kid": tokens.key_id, "typ": "JWT"}
    assert set(claims) == {"iss", "aud", "sub", "iat", "exp", "jti", "typ"}
    assert claims["typ"] == "operator"


def test_a_token_ends_without_leeway(tokens: Tokens) -> None:
    """At the second of its expiry a token no longer counts."""
    text = tokens.issue(USER, NOW, lifetime=60)
    assert not refused(tokens, text, NOW + 59)
    assert refused(tokens, text, NOW + 60)


def test_a_clock_behind_the_issuer_is_forgiven_for_a_little(tokens: Tokens) -> None:
    """The leeway is for tokens that seem to come from the future."""
    assert not refused(tokens, tokens.issue(USER, NOW + LEEWAY_SECONDS), NOW)
    assert refused(tokens, tokens.issue(USER, NOW + LEEWAY_SECONDS + 1), NOW)
    assert refused(tokens, resigned(tokens, nbf=NOW + LEEWAY_SECONDS + 1))


def test_another_key_issuer_or_audience_is_refused(tokens: Tokens) -> None:
    """A wrong key, a wrong issuer or a wrong audience is enough for a refusal."""
    text = tokens.issue(USER, NOW)
    assert refused(Tokens(bytes(reversed(SEED)), ISSUER), text)
    assert refused(Tokens(SEED, ISSUER + "/"), text)
    assert refused(Tokens(SEED, ISSUER, audience="another"), text)


def test_every_bit_of_a_token_counts(tokens: Tokens) -> None:
    """No text that differs in one character is the same token."""
    text = tokens.issue(USER, NOW)
    for at, character in enumerate(text):
        for other in ("A", "B", "_", "=", ".", " "):
            if other != character:
                assert refused(tokens, text[:at] + other + text[at + 1 :]), (at, other)


def test_every_bit_of_a_signature_counts(tokens: Tokens) -> None:
    """A token with any flipped bit of its signature is refused."""
    head, _, tail = tokens.issue(USER, NOW).rpartition(".")
    signature = decode(tail)
    for bit in range(8 * len(signature)):
        flipped = bytearray(signature)
        flipped[bit // 8] ^= 1 << bit % 8
        assert refused(tokens, f"{head}.{encode(bytes(flipped))}")


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "iat", "exp", "jti", "typ"])
@pytest.mark.parametrize("value", [..., None, True, 0, -1, 1.5, 1e30, "", "x", [], [1], {}, [None]])
def test_claims_have_exact_types(tokens: Tokens, claim: str, value: object) -> None:
    """A claim of another type is refused, even with a good signature."""
    assert refused(tokens, resigned(tokens, **{claim: value}))


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "1e400", "1.79e9", '"1790003600"', "2" * 20]
)
def test_expiry_is_a_plain_integer(tokens: Tokens, literal: str) -> None:
    """No other way to write a number is read."""
    header, claims = parts_of(tokens.issue(USER, NOW))
    text = json.dumps(claims).replace(str(claims["exp"]), literal)
    assert refused(tokens, sign(json.dumps(header).encode(), text.encode()))


def test_a_token_past_the_limit_is_cut_before_anything_is_decoded(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token longer than the limit is refused before anything is decoded."""

    def decoded(part: str) -> bytes:
        raise AssertionError(f"decoded {len(part)} characters")

    monkeypatch.setattr("tidegate_server.operators.compact._decoded", decoded)
    assert refused(tokens, tokens.issue(USER, NOW) + "A" * MAX_BYTES)


# --- the published and the recorded attacks ---------------------------------------------------


LATER = ("transport", "revoked", "weak_secret")
"""Groups about more than one token: the tests of the server and of the key files have them."""


def _recipes() -> list[Any]:
    found = shared_lines(f"{JWT_DATA}/attack_recipes.jsonl")
    return [pytest.param(each, id=each["id"]) for each in found if each["group"] not in LATER]


def _filled(value: Any) -> Any:
    """A recipe's value with its placeholders and relative times filled in."""
    if isinstance(value, dict):
        return {name: _filled(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each) for each in value]
    if not isinstance(value, str):
        return value
    if value == "2**4096":
        return 2**4096
    if value.startswith("now"):
        offset = value[3:].replace("leeway", str(LEEWAY_SECONDS)) or "+0"
        return NOW + sum(int(each) for each in offset.replace("-", "+-").split("+") if each)
    texts = {"{AUD}": "tidegate-api", "{ISS}": ISSUER, "{USER}": str(USER), "{PORT}": "1"}
    texts |= {"{ISS_HOST}": "tidegate.example.test", "{OTHER_TENANT_KID}": "other"}
    for name, text in texts.items():
        value = value.replace(name, text)
    return value


_RSA = rsa.generate_private_key(65_537, 2_048)
_EC = ec.generate_private_key(ec.SECP256R1())


def _signature(how: str, text: bytes, tokens: Tokens) -> bytes:
    private = Ed25519PrivateKey.from_private_bytes(SEED)
    public = private.public_key()
    match how:
        case "correct":
            return private.sign(text)
        case "empty":
            return b""
        case "attacker_rsa":
            return _RSA.sign(text, padding.PKCS1v15(), hashes.SHA256())
        case "attacker_ec":
            return _EC.sign(text, ec.ECDSA(hashes.SHA256()))
        case "matching_alg_same_key_or_empty":
            return hmac.digest(SEED, text, hashlib.sha256)
    encodings = serialization.Encoding
    pem = public.public_bytes(encodings.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    raw = public.public_bytes(encodings.Raw, serialization.PublicFormat.Raw)
    jwk = {"crv": "Ed25519", "kty": "OKP", "x": encode(raw)}
    secrets = {
        "public_pem": pem,
        "public_pem_without_trailing_newline": pem.rstrip(b"\n"),
        "public_jwk_json": json.dumps(jwk).encode(),
        "public_openssh_line": public.public_bytes(
            encodings.OpenSSH, serialization.PublicFormat.OpenSSH
        ),
        "empty_or_known_text": b"",
    }
    return hmac.digest(secrets[how.removeprefix("hmac_sha256_with:")], text, hashlib.sha256)


def _forged(recipe: dict[str, Any], tokens: Tokens) -> list[str]:
    """The tokens a recipe makes out of a good one."""
    good = tokens.issue(USER, NOW)
    header, claims = parts_of(good)
    if "raw_edit" in recipe:
        return _edited(recipe["raw_edit"], good)
    if "use_token" in recipe:
        other = {"challenge_proof": "challenge-proof", "id_token_of_same_issuer": "ID"}
        claims["typ"] = other[recipe["use_token"]]
    header |= _filled(recipe.get("header_set", {}))
    claims |= _filled(recipe.get("claims_set", {}))
    for name in recipe.get("header_del", []):
        del header[name]
    for name in recipe.get("claims_del", []):
        del claims[name]
    payload = json.dumps(claims).replace('"1e400"', "1e400").encode()
    if recipe.get("payload") == "deflate_bomb_64MiB":
        payload = zlib.compress(bytes(64 * 1024 * 1024), 9, wbits=-15)
    text = f"{encode(json.dumps(header).encode())}.{encode(payload)}"
    signature = _signature(recipe.get("sign", "correct"), text.encode(), tokens)
    return [f"{text}.{encode(signature)}"]


def _edited(how: str, good: str) -> list[str]:
    header, payload, tail = good.split(".")
    signature = decode(tail)
    plain_header, plain_payload = decode(header), decode(payload)
    flattened = {"protected": header, "payload": payload, "signature": tail}
    edits: dict[str, Any] = {
        "signature_padded_zero_bytes": f"{header}.{payload}.{encode(signature + bytes(4))}",
        "signature_bit_flip_each_byte": [
            f"{header}.{payload}.{encode(signature[:at] + bytes([byte ^ 1]) + signature[at + 1 :])}"
            for at, byte in enumerate(signature)
        ],
        "signature_all_zero": f"{header}.{payload}.{encode(bytes(64))}",
        "extra_dot_segment": good + ".",
        "two_segments": f"{header}.{payload}",
        "one_segment": header,
        "leading_space": " " + good,
        "trailing_newline": good + "\n",
        "inner_newline": good[:20] + "\n" + good[20:],
        "base64_with_padding": ".".join(
            part + "=" * (-len(part) % 4 or 4) for part in good.split(".")
        ),
        "duplicate_header_key_alg": sign(b'{"alg":"none",' + plain_header[1:], plain_payload),
        "duplicate_claim_key_sub": sign(plain_header, b'{"sub":"x",' + plain_payload[1:]),
        "payload_not_json": sign(plain_header, b"no json"),
        "utf8_bom_header": sign(b"\xef\xbb\xbf" + plain_header, plain_payload),
        "header_1MiB": sign(
            json.dumps({**json.loads(plain_header), "x": "y" * 2**20}).encode(), plain_payload
        ),
        "signature_100MiB": f"{header}.{payload}." + "A" * (100 * 2**20),
        "json_serialization_flattened": json.dumps(flattened),
        "json_serialization_general_two_signatures": json.dumps(
            {
                "payload": payload,
                "signatures": [{"protected": header, "signature": tail}] * 2,
            }
        ),
        "es256_signature_der_form": f"{header}.{payload}."
        + encode(_EC.sign(f"{header}.{payload}".encode(), ec.ECDSA(hashes.SHA256()))),
    }
    made = edits[how]
    return made if isinstance(made, list) else [made]


@pytest.mark.parametrize("recipe", _recipes())
def test_recorded_attacks_have_the_recorded_answer(recipe: dict[str, Any], tokens: Tokens) -> None:
    """Every recipe for one forged token, played with our algorithm in place of its own."""
    for text in _forged(recipe, tokens):
        assert refused(tokens, text) == (recipe["expect"] != "accept")


@pytest.mark.parametrize("name", ["signature", "encryption", "key", "crypto"])
def test_published_vectors_are_refused(name: str, tokens: Tokens) -> None:
    """No token of the published vectors is accepted."""
    path = shared_path(f"{JWT_DATA}/wycheproof_json_web_{name}_test.json")
    seen = 0
    for group in json.loads(path.read_text())["testGroups"]:
        for each in group["tests"]:
            text = each.get("jws") or each.get("jwe")
            assert refused(tokens, text if isinstance(text, str) else json.dumps(text))
            seen += 1
    assert seen > 10
