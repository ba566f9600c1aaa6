"""Codes of authenticator apps, and recovery codes."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.hotp import HOTP

from tidegate_server.operators.second_factor import (
    DIGITS,
    PERIOD_SECONDS,
    RECOVERY_CODES,
    SecondFactors,
    UnreadableFactorError,
    codes_left,
    otpauth_uri,
    shown_secret,
)

KEYS, ANN, NOW = SecondFactors(bytes(32)), b"ann", 1_800_000_000


def code_at(secret: bytes, step: int) -> str:
    return HOTP(secret, DIGITS, SHA1()).generate(step).decode()


def test_codes_are_those_of_the_standard() -> None:
    """The vectors of RFC 6238, appendix B, cut to six digits."""
    secret = b"12345678901234567890"
    found = [code_at(secret, at // PERIOD_SECONDS) for at in (59, 1_111_111_109, 20_000_000_000)]
    assert found == ["287082", "081804", "353130"]


def test_a_code_counts_in_its_period_and_in_those_around_it() -> None:
    """A clock may be half a minute off; later and earlier codes are wrong."""
    secret, sealed = KEYS.new_secret(ANN)
    present = NOW // PERIOD_SECONDS
    for step in range(present - 3, present + 4):
        found = KEYS.step_of(sealed, ANN, code_at(secret, step), NOW)
        assert found == (step if abs(step - present) <= 1 else None)
    for wrong in ("", "12345", "1234567", "abcdef", "１２３４５６", "\x00" * 6):
        assert KEYS.step_of(sealed, ANN, wrong, NOW) is None


def test_a_sealed_secret_is_of_use_for_its_operator_under_its_keys_alone() -> None:
    """Neither another operator's row nor another directory can use it, and damage is told."""
    _, sealed = KEYS.new_secret(ANN)
    for keys, operator, content in (
        (KEYS, b"bob", sealed),
        (SecondFactors(b"x" * 32), ANN, sealed),
        (KEYS, ANN, sealed[:-1]),
        (KEYS, ANN, b""),
    ):
        with pytest.raises(UnreadableFactorError):
            keys.step_of(content, operator, "123456", NOW)


def test_a_recovery_code_counts_once_however_it_is_typed() -> None:
    """Letter case, blanks and hyphens don't matter; the digests tell none of the codes."""
    codes, digests = KEYS.new_recovery_codes()
    assert len(set(codes)) == RECOVERY_CODES == codes_left(digests)
    left = KEYS.without(digests, f" {codes[3].upper().replace('-', ' ')} ")
    assert left is not None
    assert codes_left(left) == RECOVERY_CODES - 1
    assert KEYS.without(left, codes[3]) is None
    assert KEYS.without(left, "") is None
    assert KEYS.without(b"", codes[0]) is None
    assert not [code for code in codes if code.replace("-", "").encode() in digests]


def test_the_address_for_apps_names_the_operator_and_the_secret() -> None:
    """An app shows who the code is for."""
    secret, _ = KEYS.new_secret(ANN)
    uri = urlsplit(otpauth_uri(secret, "ann+x@example.test"))
    assert (uri.scheme, uri.netloc) == ("otpauth", "totp")
    assert "ann%2Bx%40example.test" in uri.path
    asked = parse_qs(uri.query)
    assert asked["secret"] == [shown_secret(secret)]
    assert (asked["digits"], asked["period"], asked["issuer"]) == (["6"], ["30"], ["Tidegate"])
