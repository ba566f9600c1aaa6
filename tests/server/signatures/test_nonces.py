"""Nonces are used once, in bounded memory."""

from __future__ import annotations

import pytest

from tidegate_server.signatures import nonces
from tidegate_server.signatures.nonces import Nonces


def test_a_nonce_is_used_once_for_each_key() -> None:
    """The same nonce of the same key counts once; other keys have nonces of their own."""
    known = Nonces(since=100)
    assert known.use("a", "n", 100, "", 100)
    assert not known.use("a", "n", 100, "", 100)
    assert known.use("a", "m", 100, "", 100)
    assert known.use("b", "n", 100, "", 100)


def test_the_same_call_may_come_again() -> None:
    """A call that is sent again with its idempotency key uses the nonce it has used before."""
    known = Nonces(since=0)
    assert known.use("a", "n", 1, "call", 1)
    assert known.use("a", "n", 1, "call", 1)
    assert not known.use("a", "n", 1, "other", 1)
    assert not known.use("a", "n", 1, "", 1)


def test_signatures_from_before_the_start_are_not_accepted() -> None:
    """A nonce may have been used before the memory began, so an older signature is refused."""
    known = Nonces(since=100)
    assert not known.use("a", "n", 99, "", 100)


def test_forgotten_nonces_cannot_be_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, and whatever is as old as a forgotten nonce is refused."""
    monkeypatch.setattr(nonces, "MOST", 10)
    known = Nonces(since=0)
    for at in range(1, 1_000):
        assert known.use("a", f"n{at}", at, "", at)
    for at in range(1, 1_000):
        assert not known.use("a", f"n{at}", at, "", 1_000)
    (of_key,) = known._keys.values()
    assert len(of_key.young) + len(of_key.old) <= 20
    assert not known.use("a", "new", 900, "", 1_000)


def test_many_keys_are_forgotten_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """With too many keys the memory begins anew, and only newer signatures are accepted."""
    monkeypatch.setattr(nonces, "MOST_KEYS", 3)
    known = Nonces(since=0)
    for number in range(4):
        assert known.use(f"key {number}", "n", 50, "", 60) is (number < 3)
    assert not known.use("key 0", "n", 50, "", 60)
    assert known.use("key 0", "m", 60, "", 61)
