"""One effect a key: running, recorded and new ones."""

from __future__ import annotations

import asyncio

import pytest

from tidegate_server.hot import idempotency
from tidegate_server.hot.idempotency import KEPT, IdempotencyKeys, Recorded
from tidegate_server.hot.seen_keys import KeyFilter

SECRET = b"s" * 32
KEY = b"k" * 16


def keys(stored: dict[bytes, Recorded] | None = None, *, filled: bool = True) -> IdempotencyKeys:
    made = IdempotencyKeys(SECRET, (stored or {}).get)
    if filled:
        made.use(KeyFilter(KEPT), now=0)
    return made


def test_the_second_waits_for_the_first_and_gets_its_answer() -> None:
    """While a decision is under way, its key gives the answer it is going to have."""

    async def scene() -> Recorded | None:
        known = keys()
        running = known.begin([KEY], [b"body"])
        second = asyncio.create_task(known.find(KEY))
        await asyncio.sleep(0)
        assert not second.done()
        known.finish(running, [b"answer"], seq=1)
        return await second

    assert asyncio.run(scene()) == Recorded(b"body", b"answer")


def test_a_decision_that_failed_frees_its_key() -> None:
    """A call that was not decided can be sent again under the same key."""

    async def scene() -> None:
        known = keys()
        running = known.begin([KEY], [b"body"])
        waiting = asyncio.create_task(known.find(KEY))
        await asyncio.sleep(0)
        known.finish(running, [None], seq=0)
        assert await waiting is None
        assert not known.is_running(KEY)

    asyncio.run(scene())


def test_memory_answers_until_the_database_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is dropped when its decision is indexed, and not before."""
    monkeypatch.setattr(idempotency, "GENERATION", 1)

    async def scene() -> None:
        known = keys()
        first, second = KEY, b"other"
        for number, key in enumerate((first, second), 1):
            assert not known.take([key], now=0)
            known.finish(known.begin([key], [b"body"]), [b"answer"], seq=number)
        known.forget(indexed_seq=1)
        assert (known.is_running(first), known.is_running(second)) == (False, True)
        assert known.take([first], now=0) == {0}
        known.forget(indexed_seq=2)
        assert not known.is_running(second)

    asyncio.run(scene())


def test_keys_are_dropped_together() -> None:
    """Keys are dropped when the last decision of their generation is indexed, and none runs."""

    async def scene() -> None:
        known = keys()
        first, second = known.begin([KEY], [b"body"]), known.begin([b"other"], [b"body"])
        known.finish(first, [b"answer"], seq=1)
        known.forget(indexed_seq=1)
        assert known.is_running(KEY)
        known.finish(second, [b"answer"], seq=2)
        known.forget(indexed_seq=1)
        assert await known.find(KEY) == Recorded(b"body", b"answer")
        known.forget(indexed_seq=2)
        assert not known.is_running(KEY)

    asyncio.run(scene())


@pytest.mark.parametrize("filled", [True, False])
def test_a_stored_key_is_found(filled: bool) -> None:
    """A key of an earlier process is answered from the database, with or without a filter."""

    async def scene() -> None:
        stored = Recorded(b"body", b"answer")
        known = keys({KEY: stored}, filled=False)
        if filled:
            seen = KeyFilter(KEPT)
            seen.add([KEY], 0)
            known.use(seen, 0)
        assert known.take([KEY], now=0) == {0}
        assert await known.find(KEY) == stored

    asyncio.run(scene())


def test_a_new_key_needs_no_look_up() -> None:
    """Once the filter is there, most keys are known to be new without the database."""
    known = keys()
    assert known.take([KEY, b"other"], now=0) == set()
    assert known.take([KEY, b"third", KEY], now=0) == {0, 2}


def test_of_keys_together_one_can_fail() -> None:
    """Each key of decisions that were made together has an answer of its own, or is free again."""

    async def scene() -> None:
        known = keys()
        others = [b"first", b"second"]
        running = known.begin(others, [b"1", b"2"])
        waiting = [asyncio.create_task(known.find(key)) for key in others]
        await asyncio.sleep(0)
        known.finish(running, [None, b"answer"], seq=1)
        assert await asyncio.gather(*waiting) == [None, Recorded(b"2", b"answer")]
        assert [known.is_running(key) for key in others] == [False, True]
        again = known.begin(others[:1], [b"1"])
        known.forget(indexed_seq=1)
        assert [known.is_running(key) for key in others] == [True, True]
        known.finish(again, [b"answer"], seq=2)
        assert await known.find(others[0]) == Recorded(b"1", b"answer")

    asyncio.run(scene())


def test_of_those_that_looked_for_a_key_in_vain_one_takes_it() -> None:
    """Of several calls that did not find a key, one takes it."""

    async def scene() -> None:
        known = keys()
        others = [b"first", b"second", b"first"]
        for key in others:
            assert await known.find(key) is None
        known.begin([b"second"], [b"2"])
        assert known.take_again(others, 0) == {1, 2}

    asyncio.run(scene())


def test_a_key_taken_after_a_look_up_is_known_to_a_younger_filter() -> None:
    """The filter was put in place between the look-up and the decision."""

    async def scene() -> None:
        known = keys(filled=False)
        assert known.take([KEY], now=0) == {0}
        assert await known.find(KEY) is None
        known.use(KeyFilter(KEPT), now=0)
        assert known.take_again([KEY], now=0) == set()
        known.finish(known.begin([KEY], [b"body"]), [b"answer"], seq=1)
        known.forget(indexed_seq=1)
        assert known.take([KEY], now=0) == {0}

    asyncio.run(scene())


def test_a_look_up_from_before_keys_were_forgotten_counts_no_more() -> None:
    """A look-up that began before keys were dropped does not count."""

    async def scene() -> None:
        known = keys()
        late, early = asyncio.create_task(known.find(KEY)), known.find(b"other")
        await asyncio.sleep(0)
        known.finish(known.begin([KEY], [b"body"]), [b"answer"], seq=1)
        known.forget(indexed_seq=1)
        assert await late is None
        assert known.take_again([KEY], now=0) == {0}
        await early
        known.forget(indexed_seq=1)
        assert known.take_again([b"other"], now=0) == {0}

    asyncio.run(scene())


def test_what_is_indexed_while_the_filter_is_filled_is_not_taken_for_new() -> None:
    """The filter may have read the database before the key was in it."""

    async def scene() -> None:
        known = keys(filled=False)
        read_before = KeyFilter(KEPT)
        running = known.begin([KEY], [b"body"])
        known.finish(running, [b"answer"], seq=1)
        known.forget(indexed_seq=1)
        known.use(read_before, now=0)
        assert known.take([KEY], now=0) == {0}

    asyncio.run(scene())
