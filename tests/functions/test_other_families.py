"""Optionals, encoders, hashes and sizes."""

from __future__ import annotations

import pytest

from reference_checks import code, value
from tidegate.values import TIMESTAMP_MIN, Duration, Timestamp, UInt


@pytest.mark.parametrize(
    "zero",
    [None, False, 0, UInt(0), 0.0, "", b"", [], {}, Duration(0), Timestamp(TIMESTAMP_MIN)],
    ids=repr,
)  # fmt: skip
def test_zero_values_make_empty_optionals(zero: object) -> None:
    """The zero value of every kind makes an empty optional."""
    assert value("optional.ofNonZeroValue(x).hasValue()", x=zero) is False


@pytest.mark.parametrize(
    "other", [True, 1, "0", [0], {"a": 0}, Timestamp(0), float("nan")], ids=repr
)
def test_other_values_make_full_optionals(other: object) -> None:
    """A value that is not zero makes an optional that holds it."""
    assert value("optional.ofNonZeroValue(x).hasValue()", x=other) is True


@pytest.mark.parametrize(
    "claim",
    [
        "optional.of(null).hasValue() && !optional.none().hasValue()",
        "optional.none().or(optional.of(2)).value() == 2 && optional.of(1).orValue(2) == 1",
        "optional.unwrap([optional.of(1), optional.none()]) == [1]",
        "[optional.of(1), optional.none()].unwrapOpt() == [1]",
        "base64.encode(b'hello') == 'aGVsbG8=' && base64.decode('aGVsbG8') == b'hello'",
        "base64.decode('') == b'' && base64.decode('aGl=') == b'hi'",
        "bucket('a', 1) == 0",
        "size([1, 2]) == 2 && {'a': 1}.size() == 1",
    ],
)
def test_small_families_mean_what_they_say(claim: str) -> None:
    """Each function of the small families gives its documented result."""
    assert value(claim) is True


def test_buckets_are_those_of_xxh3() -> None:
    """The hash is a published one, so that other programs can agree on it."""
    assert value("bucket('', 1000000007)") == 0x2D06800538D394C2 % 1000000007


@pytest.mark.parametrize(
    ("text", "argument", "expected"),
    [
        ("bucket('a', x)", 0, "invalid_argument"),
        ("base64.decode(x)", "aGk", None),
        ("base64.decode(x)", "aGk==", "invalid_argument"),
        ("base64.decode(x)", "aG=k", "invalid_argument"),
        ("base64.decode(x)", "a", "invalid_argument"),
        ("base64.decode(x)", "aGk=\n", "invalid_argument"),
        ("base64.decode(x)", "a-_b", "invalid_argument"),
        ("base64.decode(x)", "é", "invalid_argument"),
        ("optional.none().orValue(optional.none()).value() == x", 1, "invalid_argument"),
        ("optional.unwrap(x)", [1], "no_such_overload"),
    ],
)
def test_other_arguments_are_errors(text: str, argument: object, expected: str | None) -> None:
    """Base64 is strict but for padding that is left out."""
    assert code(text, x=argument) == expected
