"""Operator tokens: JSON Web Tokens with one algorithm, one header form, one issuer."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import attrs
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import OKPKey

from tidegate.evaluation.json_text import Node
from tidegate.policy.document.forms import identifier_problem
from tidegate_server.operators.compact import (
    InvalidTokenError,
    compact_parts,
    seconds_of,
    text_of,
    texts_of,
)

ALGORITHM = "EdDSA"
AUDIENCE = "tidegate-api"
TYPE = "operator"
"""The claim ``typ``: a token of another kind is rejected, whoever signed it."""
LIFETIME_SECONDS = 8 * 3_600
LEEWAY_SECONDS = 30
"""How far ``iat`` and ``nbf`` may be ahead of our clock.  ``exp`` has no leeway."""
_SIGNATURE_BYTES = 64
_HEADER = frozenset({"alg", "kid", "typ"})
"""All other header parameters are rejected, including ``crit``, ``jku``, ``jwk`` and ``zip``."""


@attrs.frozen
class Claims:
    """Claims of a valid token.  Times are seconds since 1970."""

    operator_id: UUID
    token_id: UUID
    issued_at: int
    expires_at: int


class _EdDSAOnly(jws.JWSRegistry):
    """Supports one algorithm.

    The library warns of the name ``EdDSA`` (RFC 9864 prefers ``Ed25519``) because it may mean
    several curves; here the key type leaves one.
    """

    def get_alg(self, name: str) -> Any:
        if name != ALGORITHM:
            raise UnsupportedAlgorithmError("only EdDSA is known")
        return self.algorithms[ALGORITHM]


class Tokens:
    """Issues and reads tokens under one signing key.

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

    def issue(
        self,
        operator_id: UUID,
        now: int,
        lifetime: int = LIFETIME_SECONDS,
        token_id: UUID | None = None,
    ) -> str:
        """A new token for an operator.

        Args:
            now: seconds since 1970.
            lifetime: seconds.
            token_id: its id; a random one if left out.
        """
        claims = {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": str(operator_id),
            "iat": now,
            "exp": now + lifetime,
            "jti": str(token_id or uuid4()),
            "typ": TYPE,
        }
        header = {"alg": ALGORITHM, "kid": self.key_id, "typ": "JWT"}
        payload = orjson.dumps(claims)
        return jws.serialize_compact(header, payload, self._key, registry=self._registry)

    def read(self, text: str, now: int) -> Claims:
        """The claims of a token that is valid at ``now`` (seconds since 1970).

        The store knows whether it was revoked, and whether the operator still exists.

        Raises:
            InvalidTokenError: it isn't ours, or isn't valid now.
        """
        header, claims, signature = compact_parts(text)
        if len(signature) != _SIGNATURE_BYTES:
            raise InvalidTokenError("the signature has another length")
        self._check_header(header)
        try:
            jws.deserialize_compact(text, self._key, registry=self._registry)
        except (JoseError, ValueError):
            raise InvalidTokenError("the signature is not ours") from None
        return self._claims(claims, now)

    def _check_header(self, header: dict[str, Node]) -> None:
        if not header.keys() <= _HEADER:
            raise InvalidTokenError("an unknown header parameter")
        if text_of(header, "alg") != ALGORITHM or text_of(header, "kid") != self.key_id:
            raise InvalidTokenError("another algorithm or key")
        if "typ" in header and text_of(header, "typ") != "JWT":
            raise InvalidTokenError("another type")

    def _claims(self, claims: dict[str, Node], now: int) -> Claims:
        if text_of(claims, "iss") != self.issuer or text_of(claims, "typ") != TYPE:
            raise InvalidTokenError("another issuer or another kind of token")
        if self.audience not in texts_of(claims, "aud"):
            raise InvalidTokenError("another audience")
        made = Claims(
            operator_id=_identifier(claims, "sub"),
            token_id=_identifier(claims, "jti"),
            issued_at=seconds_of(claims, "iat"),
            expires_at=seconds_of(claims, "exp"),
        )
        not_before = seconds_of(claims, "nbf") if "nbf" in claims else made.issued_at
        if max(made.issued_at, not_before) > now + LEEWAY_SECONDS:
            raise InvalidTokenError("from the future")
        if made.expires_at <= now:
            raise InvalidTokenError("expired")
        return made


def _identifier(members: dict[str, Node], name: str) -> UUID:
    text = text_of(members, name)
    if identifier_problem(text) is not None or text != text.lower():
        raise InvalidTokenError(f"`{name}` is no UUID")
    return UUID(text)
