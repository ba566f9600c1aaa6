"""Requests of the control plane under an idempotency key, whose answers are given again.

Operator, path and key together name an answer. The name, and the key under which the answer is
sealed, are derived from all three and from the key material of the data directory, by HKDF. Nobody
who reads the database learns the idempotency key, and nobody opens an answer without it: an answer
may hold the text of an API key.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import TYPE_CHECKING

import attrs
import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tidegate.server.http.limits import MAX_IDEMPOTENCY_KEY
from tidegate.server.http.problems import ErrorDetail, Problem
from tidegate.stores.objects.kept_answers import KeptAnswer

if TYPE_CHECKING:
    from uuid import UUID

HEADER = "idempotency-key"
KEY_FORM = f"[!-~]{{1,{MAX_IDEMPOTENCY_KEY}}}"
"""The form of the header."""
REPLAYED = {"idempotency-replayed": "true"}
_PURPOSE = b"tidegate-kept-answer-v1\0"
_HALF = 32
_NONCE_BYTES = 12
_FORM = msgspec.json.Decoder(tuple[msgspec.Raw, int | None, str | None])


@attrs.frozen
class Repeatable:
    """A request under a key.

    Attributes:
        name: stands for operator, path and key; 32 bytes.
        fingerprint: of what the body says; 32 bytes.
    """

    name: bytes
    fingerprint: bytes
    _seal: bytes = attrs.field(repr=False)
    _operator_id: UUID
    _tenant_id: UUID | None
    _now: int

    @classmethod
    def of(
        cls,
        text: str,
        *,
        secret: bytes,
        operator_id: UUID,
        tenant_id: UUID | None,
        path: str,
        body: bytes,
        now: int,
    ) -> Repeatable:
        """The request under a key.

        Args:
            text: the value of the header.
            secret: of the key material of the data directory.
            operator_id: who asks.
            tenant_id: of the path, if it has one.
            path: as it was written.
            body: as it came.
            now: nanoseconds since 1970.

        Raises:
            Problem: ``malformed-request``; the value is no key.
        """
        if not re.fullmatch(KEY_FORM, text):
            detail = f"`{HEADER}` has 1 to {MAX_IDEMPOTENCY_KEY} visible ASCII characters"
            errors = [ErrorDetail(detail=detail, header=HEADER)]
            raise Problem("malformed-request", detail, errors=errors)
        about = _PURPOSE + operator_id.bytes + f"{path}\0{text}".encode()
        made = HKDF(algorithm=SHA256(), length=2 * _HALF, salt=None, info=about).derive(secret)
        name, seal = made[:_HALF], made[_HALF:]
        # Under the derived key, so that a guess of the body cannot be tried on what is kept.
        said = hashlib.blake2b(_canonical(body), key=seal, digest_size=32, person=b"body")
        return cls(name, said.digest(), seal, operator_id, tenant_id, now)

    def sealed(self, content: bytes, revision: int | None, location: str | None) -> KeptAnswer:
        """An answer as it is kept.

        Args:
            content: the body of the answer, JSON.
            revision: of its object, if it has one.
            location: the path of its object, if it has one.
        """
        plain = msgspec.json.encode((msgspec.Raw(content), revision, location))
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + AESGCM(self._seal).encrypt(nonce, plain, self.fingerprint)
        return KeptAnswer(
            name=self.name,
            operator_id=self._operator_id,
            tenant_id=self._tenant_id,
            at_ns=self._now,
            size=len(sealed),
            fingerprint=self.fingerprint,
            sealed=sealed,
        )

    def opened(self, kept: KeptAnswer) -> tuple[msgspec.Raw, int | None, str | None]:
        """Body, revision and location of an answer that was kept under this name.

        Raises:
            Problem: ``idempotency-key-reused``; it was given to another body.
        """
        if kept.fingerprint != self.fingerprint:
            raise Problem("idempotency-key-reused")
        nonce, sealed = kept.sealed[:_NONCE_BYTES], kept.sealed[_NONCE_BYTES:]
        plain = AESGCM(self._seal).decrypt(nonce, sealed, kept.fingerprint)
        return _FORM.decode(plain)


def _canonical(body: bytes) -> bytes:
    """A JSON text without space and escapes, its members in order; any other text as it is."""
    try:
        return msgspec.json.encode(msgspec.json.decode(body), order="deterministic")
    except (ValueError, RecursionError):
        return body
