"""Operator tokens: JSON Web Tokens of one algorithm, one header form, one issuer.

The shape is checked before anything is decoded by a library, and strictly: there is one way to
write a token, and every other way is refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any
from uuid import UUID, uuid4

import attrs
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import OKPKey

from tidegate.errors import EventError, TidegateError
from tidegate.evaluation.json_text import Node, read_json
from tidegate.policy.document.forms import identifier_problem

ALGORITHM = "EdDSA"
AUDIENCE = "tidegate-api"
TYPE = "operator"
"""The claim ``typ``: a token of another kind is refused, whoever signed it."""
LIFETIME_SECONDS = 8 * 3_600
LEEWAY_SECONDS = 30
"""How far ``iat`` and ``nbf`` may lie ahead of our clock.  ``exp`` has no leeway."""
MAX_BYTES = 8 * 1024
_SIGNATURE_BYTES = 64
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_SECONDS = re.compile(r"[1-9][0-9]{0,11}")
_HEADER = frozenset({"alg", "kid", "typ"})
"""Every other header parameter, ``crit``, ``jku``, ``jwk`` and ``zip`` among them, is refused."""


class InvalidTokenError(TidegateError):
    """A token was refused. The message is for logs; callers learn only the refusal."""

    code = "invalid-token"


@attrs.frozen
class Claims:
    """What a good token says.  Times are seconds since 1970."""

    operator_id: UUID
    token_id: UUID
    issued_at: int
    expires_at: int


class _EdDSAOnly(jws.JWSRegistry):
    """Knows one algorithm.

    The library warns of the name ``EdDSA`` (RFC 9864 asks for ``Ed25519``) because it may stand
    for several curves; here the type of the key leaves one.
    """

    def get_alg(self, name: str) -> Any:
        if name != ALGORITHM:
            raise UnsupportedAlgorithmError("only EdDSA is known")
        return self.algorithms[ALGORITHM]


class Tokens:
    """Makes and reads tokens under one signing key.

    Args:
        seed: the 32 bytes of an Ed25519 private key.
        issuer: the claim ``iss``.
    """

    def __init__(self, seed: bytes, issuer: str, audience: str = AUDIENCE) -> None:
        self._key = OKPKey.import_key(Ed25519PrivateKey.from_private_bytes(seed))
        self._registry = _EdDSAOnly()
        self.key_id = self._key.thumbprint()
        self.issuer = issuer
        self.audience = audience

    def issue(self, operator_id: UUID, now: int, lifetime: int = LIFETIME_SECONDS) -> str:
        """A new token for an operator.

        Args:
            now: seconds since 1970.
            lifetime: seconds.
        """
        claims = {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": str(operator_id),
            "iat": now,
            "exp": now + lifetime,
            "jti": str(uuid4()),
            "typ": TYPE,
        }
        header = {"alg": ALGORITHM, "kid": self.key_id, "typ": "JWT"}
        payload = orjson.dumps(claims)
        return jws.serialize_compact(header, payload, self._key, registry=self._registry)

    def read(self, text: str, now: int) -> Claims:
        """The claims of a token that counts at ``now`` (seconds since 1970).

        Whether it was revoked, and whether the operator still exists, is for the store to say.

        Raises:
            InvalidTokenError: it is none of ours, or not for now.
        """
        if len(text) > MAX_BYTES or not _FORM.fullmatch(text):
            raise InvalidTokenError("not three parts of base64url")
        header, payload, signature = (_decode(part) for part in text.split("."))
        if len(signature) != _SIGNATURE_BYTES:
            raise InvalidTokenError("the signature has another length")
        self._check_header(_members(header))
        try:
            jws.deserialize_compact(text, self._key, registry=self._registry)
        except (JoseError, ValueError):
            raise InvalidTokenError("the signature is not ours") from None
        return self._claims(_members(payload), now)

    def _check_header(self, header: dict[str, Node]) -> None:
        if not header.keys() <= _HEADER:
            raise InvalidTokenError("an unknown header parameter")
        if _text(header, "alg") != ALGORITHM or _text(header, "kid") != self.key_id:
            raise InvalidTokenError("another algorithm or key")
        if "typ" in header and _text(header, "typ") != "JWT":
            raise InvalidTokenError("another type")

    def _claims(self, claims: dict[str, Node], now: int) -> Claims:
        if _text(claims, "iss") != self.issuer or _text(claims, "typ") != TYPE:
            raise InvalidTokenError("another issuer or another kind of token")
        if self.audience not in _texts(claims, "aud"):
            raise InvalidTokenError("another audience")
        made = Claims(
            operator_id=_identifier(claims, "sub"),
            token_id=_identifier(claims, "jti"),
            issued_at=_seconds(claims, "iat"),
            expires_at=_seconds(claims, "exp"),
        )
        not_before = _seconds(claims, "nbf") if "nbf" in claims else made.issued_at
        if max(made.issued_at, not_before) > now + LEEWAY_SECONDS:
            raise InvalidTokenError("from the future")
        if made.expires_at <= now:
            raise InvalidTokenError("expired")
        return made


def _decode(part: str) -> bytes:
    """The bytes of one part; there is one text for each."""
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise InvalidTokenError("not base64url") from None
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != part:
        raise InvalidTokenError("not canonical base64url")
    return data


def _members(data: bytes) -> dict[str, Node]:
    try:
        node = read_json(data)
    except EventError as error:
        raise InvalidTokenError(f"no strict JSON: {error.message}") from None
    if node.kind != "object":
        raise InvalidTokenError("no JSON object")
    members: dict[str, Node] = node.content
    return members


def _text(members: dict[str, Node], name: str) -> str:
    node = members.get(name)
    if node is None or node.kind != "string":
        raise InvalidTokenError(f"`{name}` is no text")
    text: str = node.content
    return text


def _texts(members: dict[str, Node], name: str) -> list[str]:
    """One text, or a list of them (RFC 7519, section 4.1.3)."""
    node = members.get(name)
    if node is None or node.kind != "array":
        return [_text(members, name)]
    items: list[Any] = node.content
    if any(each.kind != "string" for each in items):
        raise InvalidTokenError(f"`{name}` is no list of texts")
    return [each.content for each in items]


def _identifier(members: dict[str, Node], name: str) -> UUID:
    text = _text(members, name)
    if identifier_problem(text) is not None or text != text.lower():
        raise InvalidTokenError(f"`{name}` is no UUID")
    return UUID(text)


def _seconds(members: dict[str, Node], name: str) -> int:
    node = members.get(name)
    if node is None or node.kind != "number" or not _SECONDS.fullmatch(node.content):
        raise InvalidTokenError(f"`{name}` is no whole number of seconds")
    return int(node.content)
