"""The second factor of a password: time-based one-time codes (RFC 6238), and recovery codes.

A code is six digits that an authenticator app derives from a secret and the time.  A recovery code
replaces one when the app is lost, and works once.  The secret is stored sealed and recovery codes
as digests, so that a copy of the database has neither.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.twofactor.hotp import HOTP
from cryptography.hazmat.primitives.twofactor.totp import TOTP

DIGITS = 6
PERIOD_SECONDS = 30
LEEWAY_PERIODS = 1
"""How many periods a device's clock may be ahead or behind (RFC 6238, section 5.2)."""
SECRET_BYTES = 20
"""The size of SHA-1's result, as RFC 4226 recommends; apps read no other hash everywhere."""
RECOVERY_CODES = 10
ISSUER = "Tidegate"
_PURPOSE = b"tidegate-second-factor-v1"
_NONCE_BYTES = 12
_CODE_BYTES = 10
_DIGEST_BYTES = 32


class UnreadableFactorError(ValueError):
    """The secret was sealed under the keys of another directory, or is damaged."""


class SecondFactors:
    """Creates and checks second factors.

    Args:
        secret: the secret of the data directory's key material.
    """

    def __init__(self, secret: bytes) -> None:
        made = HKDF(algorithm=SHA256(), length=64, salt=None, info=_PURPOSE).derive(secret)
        self._seal, self._pepper = AESGCM(made[:32]), made[32:]

    def new_secret(self, operator: bytes) -> tuple[bytes, bytes]:
        """Return a new secret, and the same sealed for one operator.

        Args:
            operator: the operator's id; the sealed secret is of use for no other.
        """
        secret, nonce = secrets.token_bytes(SECRET_BYTES), secrets.token_bytes(_NONCE_BYTES)
        return secret, nonce + self._seal.encrypt(nonce, secret, operator)

    def step_of(self, sealed: bytes, operator: bytes, code: str, now: int) -> int | None:
        """Return the period that a code belongs to; None for a wrong code.

        Args:
            sealed: the sealed secret.
            operator: the operator's id.
            code: the digits that were typed.
            now: seconds since 1970.

        Raises:
            UnreadableFactorError: the secret can't be read.
        """
        try:
            secret = self._seal.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], operator)
        except (InvalidTag, ValueError):
            raise UnreadableFactorError("the second factor can't be read") from None
        codes = HOTP(secret, DIGITS, SHA1())  # noqa: S303 - what RFC 6238 and the apps use
        present = now // PERIOD_SECONDS
        # Every period is compared, so that the time taken doesn't tell which one it was.
        steps = range(max(0, present - LEEWAY_PERIODS), present + LEEWAY_PERIODS + 1)
        typed = code.encode()
        equal = [step for step in steps if hmac.compare_digest(codes.generate(step), typed)]
        return equal[-1] if equal else None

    def digest(self, recovery_code: str) -> bytes:
        """Return the digest of a recovery code; letter case, blanks and hyphens don't matter."""
        bare = "".join(recovery_code.split()).replace("-", "").lower()
        return hashlib.blake2b(bare.encode(), key=self._pepper, digest_size=_DIGEST_BYTES).digest()

    def new_recovery_codes(self) -> tuple[list[str], bytes]:
        """Return new recovery codes, and their digests, one after the other."""
        codes = [_grouped(secrets.token_bytes(_CODE_BYTES)) for _ in range(RECOVERY_CODES)]
        return codes, b"".join(map(self.digest, codes))

    def without(self, digests: bytes, recovery_code: str) -> bytes | None:
        """Return the digests that are left once a code is used; None for a wrong code."""
        used = self.digest(recovery_code)
        left = [each for each in _split(digests) if not hmac.compare_digest(each, used)]
        return None if len(left) == len(_split(digests)) else b"".join(left)


def codes_left(digests: bytes) -> int:
    """How many recovery codes haven't been used."""
    return len(_split(digests))


def shown_secret(secret: bytes) -> str:
    """Return a secret as it is typed into an app: base32, without padding."""
    return base64.b32encode(secret).decode().rstrip("=")


def otpauth_uri(secret: bytes, email: str) -> str:
    """Return the address that apps read from a QR code ("Key URI Format")."""
    codes = TOTP(secret, DIGITS, SHA1(), PERIOD_SECONDS)  # noqa: S303
    return codes.get_provisioning_uri(email, ISSUER)


def _grouped(content: bytes) -> str:
    text = base64.b32encode(content).decode().lower()
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))


def _split(digests: bytes) -> list[bytes]:
    return [digests[at : at + _DIGEST_BYTES] for at in range(0, len(digests), _DIGEST_BYTES)]
