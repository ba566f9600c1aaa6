"""The filter of idempotency keys."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_server.hot import seen_keys
from tidegate_server.hot.seen_keys import KeyFilter


def hashed(number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).digest()


@given(st.sets(st.integers(0, 10**9), max_size=200))
def test_what_was_added_is_always_found(numbers: set[int]) -> None:
    """Never seen is said only of what was never added."""
    known = KeyFilter(kept=10)
    for number in numbers:
        known.add([hashed(number)], now=0)
    assert known.add_new([hashed(number) for number in numbers], 0) == set(range(len(numbers)))


def test_hardly_anything_else_is_found() -> None:
    """Of keys never added at most one in a hundred is looked up in vain."""
    known = KeyFilter(kept=10)
    for number in range(20_000):
        known.add([hashed(number)], now=0)
    never_added = [hashed(number) for number in range(10**6, 10**6 + 5_000)]
    assert len(known.add_new(never_added, now=0)) < 50


def test_few_keys_within_the_time_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large generation is begun only where the one before it was full before the time ended."""
    made: list[int] = []
    bloom = seen_keys.Bloom
    monkeypatch.setattr(seen_keys, "CAPACITY", 100)
    monkeypatch.setattr(seen_keys, "LARGE_CAPACITY", 10_000)
    monkeypatch.setattr(
        seen_keys, "Bloom", lambda capacity, share: made.append(capacity) or bloom(capacity, share)
    )
    known = KeyFilter(kept=1_000)
    for number in range(301):
        known.add([hashed(number)], now=number * 20)
    assert made == [100, 100, 100, 100]
    for number in range(301, 1_000):
        known.add([hashed(number)], now=6_000 + number)
    assert made == [100, 100, 100, 100, 10_000]


def test_old_generations_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys older than the time are dropped once a generation is full."""
    monkeypatch.setattr(seen_keys, "CAPACITY", 100)
    known = KeyFilter(kept=1_000)
    for number in range(100):
        known.add([hashed(number)], now=0)
    for number in range(100, 300):
        known.add([hashed(number)], now=2_000)
    numbers = [5, *range(100, 300)]
    assert known.add_new([hashed(number) for number in numbers], 2_000) == set(range(1, 201))


@given(st.lists(st.integers(0, 20), max_size=30), st.lists(st.integers(0, 20), max_size=30))
def test_of_keys_together_the_new_ones_are_taken_once(
    before: list[int], together: list[int]
) -> None:
    """The others are those that were there, or come a second time."""
    known = KeyFilter(kept=10)
    known.add({hashed(number) for number in before}, now=0)
    others = known.add_new([hashed(number) for number in together], now=0)
    assert others == {
        place
        for place, number in enumerate(together)
        if number in before or number in together[:place]
    }
    again = known.add_new([hashed(number) for number in together], now=0)
    assert again == set(range(len(together)))
