"""Passwords of the ``local`` provider, stored as Argon2id hashes."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from tidegate.errors import TidegateError

MIN_CHARACTERS = 12
MAX_BYTES = 1_024
"""More than anyone types. A limit is needed, since it is hashed before the caller is known."""

_HASHER = PasswordHasher()
_NOBODYS = (
    f"$argon2id$v=19$m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    f"${'A' * 22}${'A' * 43}"
)
"""A hash without a password, as costly as any: an unknown operator takes as long as a known one."""


class WeakPasswordError(TidegateError):
    """A new password is too short or too long."""

    code = "weak-password"


def hash_password(password: str) -> str:
    """Hash a new password for storage.

    Raises:
        WeakPasswordError: it is too short or too long.
    """
    if len(password) < MIN_CHARACTERS:
        raise WeakPasswordError(f"a password has at least {MIN_CHARACTERS} characters")
    if len(password.encode(errors="replace")) > MAX_BYTES:
        raise WeakPasswordError(f"a password has at most {MAX_BYTES} bytes")
    return _HASHER.hash(password)


def is_password(password: str, kept: str | None) -> bool:
    """Whether a password matches a stored hash; None is the hash of an unknown operator.

    Takes equally long for unknown operators: 64 MiB, and a processor for a while.  Anyone can
    request it, so the caller limits how many run at once.
    """
    if len(password.encode(errors="replace")) > MAX_BYTES:
        return False
    try:
        return _HASHER.verify(kept or _NOBODYS, password) and kept is not None
    except VerifyMismatchError:
        return False
    except (VerificationError, InvalidHashError, UnicodeError):
        return False
