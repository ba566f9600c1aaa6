"""The signature on answers to daemons."""

from __future__ import annotations

from base64 import b64encode

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tidegate_server.sync.messages import signed


class Signer:
    """Signs answers.

    Args:
        seed: 32 bytes for the Ed25519 key (RFC 8032).
    """

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        public = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.public_key = public.hex()
        """The public key in hexadecimal."""

    def sign(self, body: bytes) -> str:
        """Return the signature of an answer, in base64."""
        return b64encode(self._key.sign(signed(body))).decode()
