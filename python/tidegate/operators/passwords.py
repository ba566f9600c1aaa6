"""Passwords of the ``local`` provider, kept as Argon2id hashes."""

from __future__ import annotations

import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from tidegate.errors import TidegateError

MIN_CHARACTERS = 12
MAX_BYTES = 1_024
"""More than anyone types; what is hashed before a caller is known must be bounded."""
AT_ONCE = 2
"""Hashes computed at one time: each takes 64 MiB and a processor, and anyone can ask for one."""

_HASHER = PasswordHasher()
_ROOM = threading.BoundedSemaphore(AT_ONCE)
_WAIT_SECONDS = 2.0
_NOBODYS = (
    f"$argon2id$v=19$m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    f"${'A' * 22}${'A' * 43}"
)
"""Of no password, at the price of any: an unknown operator takes as long as a known one."""


class WeakPasswordError(TidegateError):
    """A new password is too short or too long."""

    code = "weak-password"


class PasswordsBusyError(TidegateError):
    """Too many passwords are being looked at; try again."""

    code = "overloaded"


def hash_password(password: str) -> str:
    """The hash a new password is kept as.

    Raises:
        WeakPasswordError: it is too short or too long.
    """
    if len(password) < MIN_CHARACTERS:
        raise WeakPasswordError(f"a password has at least {MIN_CHARACTERS} characters")
    if len(password.encode(errors="replace")) > MAX_BYTES:
        raise WeakPasswordError(f"a password has at most {MAX_BYTES} bytes")
    return _HASHER.hash(password)


def is_password(password: str, kept: str | None) -> bool:
    """Whether a password is the one whose hash is kept; None is the hash of nobody.

    Takes as long for nobody as for somebody.

    Raises:
        PasswordsBusyError: others are waiting already.
    """
    if len(password.encode(errors="replace")) > MAX_BYTES:
        return False
    if not _ROOM.acquire(timeout=_WAIT_SECONDS):
        raise PasswordsBusyError("too many passwords are being looked at")
    try:
        return _HASHER.verify(kept or _NOBODYS, password) and kept is not None
    except VerifyMismatchError:
        return False
    except (VerificationError, InvalidHashError, UnicodeError):
        return False
    finally:
        _ROOM.release()
