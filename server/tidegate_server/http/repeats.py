"""Requests of the control plane under an idempotency key, with answers that are repeated.

Operator, path and key together identify an answer. Its name, and the key that seals it, are derived
from all three and from the key material of the data directory, by HKDF. So a reader of the database
can't learn the idempotency key, and can't open an answer without it: an answer may contain the text
of an API key.
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

from tidegate_server.http.limits import MAX_IDEMPOTENCY_KEY
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.stores.objects.kept_answers import KeptAnswer

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
    """A request under an idempotency key.

    Attributes:
        name: identifies operator, path and key; 32 bytes.
        fingerprint: of the body's meaning; 32 bytes.
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
        """Return the request under its key.

        Args:
            text: the value of the header.
            secret: the secret of the data directory's key material.
            operator_id: the caller.
            tenant_id: the tenant in the path, if it has one.
            path: the path as it was written.
            body: the body as received.
            now: nanoseconds since 1970.

        Raises:
            Problem: ``malformed-request``; the value isn't a key.
        """
        if not re.fullmatch(KEY_FORM, text):
            detail = f"`{HEADER}` has 1 to {MAX_IDEMPOTENCY_KEY} visible ASCII characters"
            errors = [ErrorDetail(detail=detail, header=HEADER)]
            raise Problem("malformed-request", detail, errors=errors)
        about = _PURPOSE + operator_id.bytes + f"{path}\0{text}".encode()
        made = HKDF(algorithm=SHA256(), length=2 * _HALF, salt=None, info=about).derive(secret)
        name, seal = made[:_HALF], made[_HALF:]
        # Under the derived key, so that guesses of the body can't be tested against stored data.
        said = hashlib.blake2b(_canonical(body), key=seal, digest_size=32, person=b"body")
        return cls(name, said.digest(), seal, operator_id, tenant_id, now)

    def sealed(self, content: bytes, revision: int | None, location: str | None) -> KeptAnswer:
        """Return an answer in the form that is stored.

        Args:
            content: the body of the answer, JSON.
            revision: its object's revision, if any.
            location: its object's path, if any.
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
        """Return body, revision and location of an answer that was stored under this name.

        Raises:
            Problem: ``idempotency-key-reused``; it answered another body.
        """
        if kept.fingerprint != self.fingerprint:
            raise Problem("idempotency-key-reused")
        nonce, sealed = kept.sealed[:_NONCE_BYTES], kept.sealed[_NONCE_BYTES:]
        plain = AESGCM(self._seal).decrypt(nonce, sealed, kept.fingerprint)
        return _FORM.decode(plain)


def _canonical(body: bytes) -> bytes:
    """Return a JSON text without space and escapes, its members sorted; other texts unchanged."""
    try:
        return msgspec.json.encode(msgspec.json.decode(body), order="deterministic")
    except (ValueError, RecursionError):
        return body
