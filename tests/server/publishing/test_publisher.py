"""The publisher follows the log, and counts decisions that were deleted before they were sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from tests.store_contract.examples import TENANT, done, entry, tenant

from tidegate_server.publishing import publisher as module
from tidegate_server.publishing.base import NotTakenError
from tidegate_server.publishing.messages import Message
from tidegate_server.publishing.publisher import Publisher
from tidegate_server.stores import retention
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.sqlite import SqliteStore


@attrs.define
class Kept:
    """Takes all messages, after it has refused a number of batches."""

    refusals: int = 0
    taken: list[int] = attrs.field(factory=list)

    async def send(self, messages: Sequence[Message]) -> None:
        """Take them."""
        if self.refusals:
            self.refusals -= 1
            raise NotTakenError("not now")
        self.taken += [each.seq for each in messages]

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """An empty store."""
    url = f"sqlite:///{tmp_path / 'tidegate.db'}"
    migrate(url)
    made = SqliteStore(url)
    done(made.write(lambda connection: tenants.create(connection, tenant())))
    return made


def follow(publisher: Publisher, kept: Kept, last: int) -> None:
    """Run it until it has come to a number."""

    async def scene() -> None:
        running = asyncio.create_task(publisher.run())
        async with asyncio.timeout(30):
            while publisher.waiting or kept.taken[-1:] != [last]:
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(scene())


def append(store: SqliteStore, count: int) -> None:
    """More decisions."""
    first = store.statistics().committed_seq
    for number in range(first + 1, first + count + 1):
        done(store.append([entry(number)]))


def test_batches_join_without_a_gap(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused batch is sent again, and a later publisher goes on where this one ended."""
    monkeypatch.setattr(module, "BATCH", 3)
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.0)
    append(store, 2)
    begun = Kept()
    follow_now = Publisher(store, begun, lambda: store.statistics().committed_seq)
    begin(follow_now)
    append(store, 8)
    kept = Kept(refusals=2)
    publisher = Publisher(store, kept, lambda: store.statistics().committed_seq)
    follow(publisher, kept, 10)
    assert kept.taken == list(range(3, 11))
    assert (publisher.sent, publisher.failures, publisher.lost) == (8, 2, 0)
    append(store, 1)
    later = Kept()
    follow(Publisher(store, later, lambda: store.statistics().committed_seq), later, 11)
    assert later.taken == [11]
    store.close()


def begin(publisher: Publisher) -> None:
    """Run it until it has noted where it begins."""

    async def scene() -> None:
        running = asyncio.create_task(publisher.run())
        async with asyncio.timeout(30):
            while publisher._position is None:
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(scene())


def test_what_is_deleted_before_it_was_sent_is_counted(store: SqliteStore) -> None:
    """The others are sent, and the figure says how many are missing."""
    begin(Publisher(store, Kept(), lambda: store.statistics().committed_seq))
    append(store, 6)
    store.index_now()
    end = retention.END_OF_TIME_NS
    assert done(store.write(lambda c: retention.prune(c, TENANT, end, 4, 1_000)))
    kept = Kept()
    publisher = Publisher(store, kept, lambda: store.statistics().committed_seq)
    follow(publisher, kept, 6)
    assert kept.taken == [5, 6]
    assert (publisher.sent, publisher.lost) == (2, 4)
    store.close()
