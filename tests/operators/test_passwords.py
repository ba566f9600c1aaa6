"""Passwords and their hashes."""

from __future__ import annotations

import pytest

from tidegate_server.operators.passwords import (
    WeakPasswordError,
    hash_password,
    is_password,
)

GOOD = "correct horse battery staple"


def test_a_password_is_known_by_its_hash() -> None:
    """The hash is Argon2id, tells the password from others, and is new each time."""
    kept = hash_password(GOOD)
    assert kept.startswith("$argon2id$")
    assert is_password(GOOD, kept)
    assert not is_password(GOOD + "r", kept)
    assert hash_password(GOOD) != kept


@pytest.mark.parametrize("password", ["", "eleven char", "x" * 1_025, "ü" * 600])
def test_passwords_too_short_or_too_long_are_refused(password: str) -> None:
    """Bounds hold for what is kept and for what is looked at."""
    with pytest.raises(WeakPasswordError):
        hash_password(password)


def test_nobody_has_no_password() -> None:
    """An operator that does not exist is refused by the same work."""
    assert not is_password(GOOD, None)
    assert not is_password("x" * 100_000, None)


def test_a_damaged_hash_lets_nobody_in() -> None:
    """A text that is not an Argon2 hash matches no password."""
    assert not is_password(GOOD, "plain text")


def test_half_of_a_surrogate_pair_is_no_password() -> None:
    """Text that has no bytes is refused, not an error."""
    assert not is_password("\ud800" * 20, hash_password(GOOD))
