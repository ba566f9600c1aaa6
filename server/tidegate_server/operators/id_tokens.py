"""ID tokens (OpenID Connect Core 1.0, section 2): they say who logged in at an issuer.

The algorithm and the key come from the settings and the issuer's key set; the token's own
statements about them are only compared.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import attrs
from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tidegate_server.operators.compact import (
    InvalidTokenError,
    compact_parts,
    seconds_of,
    text_of,
    texts_of,
)

if TYPE_CHECKING:
    from tidegate.evaluation.json_text import Node

Algorithm: TypeAlias = Literal["RS256", "PS256", "ES256", "EdDSA"]
ALGORITHMS: tuple[str, ...] = get_args(Algorithm)
IdKey: TypeAlias = RSAKey | ECKey | OKPKey

LEEWAY_SECONDS = 30
"""The most that the clocks of issuer and server may differ."""
MAX_SUBJECT = 255
MIN_RSA_BITS = 2_048
_HEADER = frozenset({"alg", "kid", "typ", "x5t", "x5t#S256"})
"""All other header parameters are rejected, including ``crit``, ``jku``, ``jwk`` and ``x5u``;
certificate thumbprints are ignored."""
_KEYS: Mapping[str, tuple[type[IdKey], Mapping[str, str]]] = {
    "RS256": (RSAKey, {"kty": "RSA"}),
    "PS256": (RSAKey, {"kty": "RSA"}),
    "ES256": (ECKey, {"kty": "EC", "crv": "P-256"}),
    "EdDSA": (OKPKey, {"kty": "OKP", "crv": "Ed25519"}),
}


_PUBLIC = ("kty", "crv", "n", "e", "x", "y")


@attrs.frozen(kw_only=True)
class Expected:
    """Claims that a login's token must have.

    Attributes:
        nonce: from the start of the login.
        now: seconds since 1970.
    """

    issuer: str
    client_id: str
    algorithm: str
    nonce: str = attrs.field(repr=False)
    now: int


@attrs.frozen(kw_only=True)
class IdClaims:
    """Claims of a valid ID token.  ``email`` has been verified by the issuer."""

    subject: str
    email: str | None
    name: str | None


class _OneAlgorithm(jws.JWSRegistry):
    """Supports one algorithm; see ``tokens.py`` for the name ``EdDSA``."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def get_alg(self, name: str) -> Any:
        if name != self._name:
            raise UnsupportedAlgorithmError(f"only {self._name} is expected")
        return self.algorithms[name]


def id_keys(key_set: Any, algorithm: str) -> dict[str, IdKey]:
    """The keys in a key set (RFC 7517) that may sign with an algorithm, by ``kid``.

    Keys of other kinds and uses are skipped, and so are short RSA keys.
    """
    entries = key_set.get("keys") if isinstance(key_set, dict) else None
    found: dict[str, IdKey] = {}
    for entry in entries if isinstance(entries, list) else ():
        key = _id_key(entry, algorithm) if isinstance(entry, dict) else None
        if key is not None:
            found[str(entry.get("kid", ""))] = key
    return found


def _id_key(entry: dict[str, Any], algorithm: str) -> IdKey | None:
    kind, members = _KEYS[algorithm]
    if not members.items() <= entry.items() or entry.get("use", "sig") != "sig":
        return None
    if entry.get("alg", algorithm) not in (algorithm, "Ed25519" if algorithm == "EdDSA" else None):
        return None
    public: dict[str, Any] = {name: entry[name] for name in _PUBLIC if name in entry}
    try:
        key = kind.import_key(public)
        if isinstance(key, RSAKey) and key.public_key.key_size < MIN_RSA_BITS:
            return None
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return key


def key_id_of(text: str) -> str | None:
    """The ``kid`` of a token; None if it has none.  Use it only for a lookup.

    Raises:
        InvalidTokenError: the text isn't a token.
    """
    header, _, _ = compact_parts(text)
    return text_of(header, "kid") if "kid" in header else None


def read_id_token(text: str, key: IdKey, expected: Expected, access_token: str) -> IdClaims:
    """The claims of an ID token that is valid for this login.

    Args:
        text: the token.
        key: the issuer's key with the token's ``kid``.
        expected: the claims it must have.
        access_token: the access token received with it; its hash is compared if the token has one.

    Raises:
        InvalidTokenError: it isn't the issuer's, or not for this login.
    """
    header, claims, _ = compact_parts(text)
    _check_header(header, expected.algorithm)
    try:
        jws.deserialize_compact(text, key, registry=_OneAlgorithm(expected.algorithm))
    except (JoseError, ValueError):
        raise InvalidTokenError("the signature is not the issuer's") from None
    _check_parties(claims, expected)
    _check_times(claims, expected.now)
    if not hmac.compare_digest(text_of(claims, "nonce").encode(), expected.nonce.encode()):
        raise InvalidTokenError("the nonce is of another login")
    at_hash = _half_hash(access_token, expected.algorithm)
    if "at_hash" in claims and text_of(claims, "at_hash") != at_hash:
        raise InvalidTokenError("the access token is another one")
    subject = text_of(claims, "sub")
    if not 0 < len(subject) <= MAX_SUBJECT:
        raise InvalidTokenError("`sub` is empty or too long")
    return IdClaims(subject=subject, email=_verified_email(claims), name=_optional(claims, "name"))


def _check_header(header: dict[str, Node], algorithm: str) -> None:
    if not header.keys() <= _HEADER:
        raise InvalidTokenError("an unknown header parameter")
    if text_of(header, "alg") != algorithm:
        raise InvalidTokenError("another algorithm than the settings name")
    if "typ" in header and text_of(header, "typ").upper() != "JWT":
        raise InvalidTokenError("a token of another type")


def _check_parties(claims: dict[str, Node], expected: Expected) -> None:
    if text_of(claims, "iss") != expected.issuer:
        raise InvalidTokenError("another issuer")
    # A second audience could use the token here; no provider needs one for a login.
    if texts_of(claims, "aud") != [expected.client_id]:
        raise InvalidTokenError("another audience")
    if "azp" in claims and text_of(claims, "azp") != expected.client_id:
        raise InvalidTokenError("issued to another client")


def _check_times(claims: dict[str, Node], now: int) -> None:
    issued_at, expires_at = seconds_of(claims, "iat"), seconds_of(claims, "exp")
    not_before = seconds_of(claims, "nbf") if "nbf" in claims else issued_at
    if max(issued_at, not_before) > now + LEEWAY_SECONDS:
        raise InvalidTokenError("from the future")
    if expires_at <= now - LEEWAY_SECONDS:
        raise InvalidTokenError("expired")


def _half_hash(access_token: str, algorithm: str) -> str:
    """The left half of an access token's hash (section 3.1.3.6), with the signature's hash
    function."""
    hashed = hashlib.sha512 if algorithm == "EdDSA" else hashlib.sha256
    digest = hashed(access_token.encode()).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).decode().rstrip("=")


def _verified_email(claims: dict[str, Node]) -> str | None:
    node = claims.get("email_verified")
    is_verified = node is not None and node.kind == "bool" and node.content is True
    return _optional(claims, "email") if is_verified else None


def _optional(claims: dict[str, Node], name: str) -> str | None:
    return text_of(claims, name) if name in claims else None
