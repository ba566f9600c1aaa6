"""The text, the hash and the ring of API keys."""

from __future__ import annotations

from uuid import UUID

import attrs
import pytest

from tidegate_server.operators.key_ring import ApiKey, KeyRing, NewKey, hash_key, make_key

PEPPER = bytes(range(32))
TENANT = UUID(int=1)


def made(seed: int = 0) -> NewKey:
    return make_key(bytes((seed + i) % 256 for i in range(42)), PEPPER)


def kept(key: NewKey, until: int | None = None) -> ApiKey:
    return ApiKey(UUID(int=2), TENANT, key.prefix, 600, ((key.secret_hash, until),))


def ring(*keys: ApiKey) -> KeyRing:
    result = KeyRing(PEPPER)
    result.replace(keys)
    return result


def test_a_key_is_found_by_its_text() -> None:
    """The text that was shown once is the credential."""
    key = made()
    assert ring(kept(key)).find(key.text.encode(), now=0) == kept(key)


def test_the_text_holds_the_prefix_and_256_bits() -> None:
    """The form is tg, the public prefix, and the secret in base 32."""
    start, prefix, secret = made().text.split("_")
    assert (start, prefix, len(secret)) == ("tg", made().prefix, 52)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("a" if text[-1] != "a" else "b"),
        lambda text: text[:-1],
        lambda text: text + "a",
        lambda text: text.upper(),
        lambda text: "xx" + text[2:],
        lambda text: text.rsplit("_", 1)[0],
        lambda text: "",
        lambda text: "_" * 200,
        lambda text: text + "a" * 100_000,
    ],
)
def test_another_text_finds_nothing(change: object) -> None:
    """Only the whole, exact text of a key is accepted."""
    key = made()
    assert callable(change)
    assert ring(kept(key)).find(change(key.text).encode(), now=0) is None


def test_both_secrets_count_until_the_old_one_ends() -> None:
    """While a key is rotated its old secret has an end; the new one has none."""
    old, new = made(0), made(7)
    new = NewKey(new.text.replace(new.prefix, old.prefix), old.prefix, b"")
    digest = hash_key(new.text.encode(), PEPPER)
    key = attrs.evolve(kept(old), secret_hashes=((old.secret_hash, 100), (digest, None)))
    keys = ring(key)
    assert keys.find(old.text.encode(), now=99) is key
    assert keys.find(old.text.encode(), now=100) is None
    assert keys.find(new.text.encode(), now=100) is key


def test_an_expired_key_finds_nothing() -> None:
    """A key counts up to its expiry and no longer."""
    key = attrs.evolve(kept(made()), expires_at=50)
    assert ring(key).find(made().text.encode(), now=49) is key
    assert ring(key).find(made().text.encode(), now=50) is None


def test_a_key_that_was_found_is_still_looked_at() -> None:
    """A key that was accepted once is refused after its end or its revocation."""
    key = attrs.evolve(kept(made(), until=40), expires_at=50)
    keys, text = ring(key), made().text.encode()
    assert [keys.find(text, now=at) for at in (1, 39, 40, 1)] == [key, key, None, key]
    keys.replace([attrs.evolve(key, secret_hashes=((made().secret_hash, None),))])
    assert [keys.find(text, now=at) is None for at in (40, 49, 50)] == [False, False, True]
    keys.replace([])
    assert keys.find(text, now=1) is None


def test_nothing_secret_is_printed() -> None:
    """A key in a log line shows neither its text nor its hash."""
    key = made()
    assert key.text not in repr(key)
    assert key.secret_hash.hex() not in repr(kept(key))
    assert repr(key.secret_hash) not in repr(kept(key))


def test_too_few_random_bytes_are_refused() -> None:
    """A key is never made from less than it promises."""
    with pytest.raises(ValueError, match="42 random bytes"):
        make_key(b"short", PEPPER)
