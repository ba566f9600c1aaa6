"""The index step: what it makes of a part of the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs
import orjson
import pytest
from sqlalchemy import select
from tests.store_contract.examples import POLICY, START_NS, TENANT, done, entry
from tests.store_contract.index import key

from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.index.counting import count_log
from tidegate_server.stores.index.idempotency import BUCKET_BITS, HOUR_NS
from tidegate_server.stores.rows.tables import idempotency
from tidegate_server.stores.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A new store."""
    url = f"sqlite:///{tmp_path}/data/tidegate.db"
    migrate(url)
    store = SqliteStore(url)
    yield store
    store.close()


def test_keys_are_in_the_bucket_of_their_hour_and_decision(store: SqliteStore) -> None:
    """The extension numbers buckets as those who look for keys do."""
    times = [START_NS + number * HOUR_NS // 3 for number in range(7)]
    blocks = [
        entry(each, received_at_ns=at, idempotency=key(each)) for each, at in enumerate(times)
    ]
    done(store.append(blocks))
    store.index_now()
    with store.read() as connection:
        query = select(idempotency.c.bucket).order_by(idempotency.c.seq)
        found = list(connection.execute(query).scalars())
    assert found == [at // HOUR_NS << BUCKET_BITS for at in times]
    ((number, _, seqs),), _ = count_log(blocks[0].index, (3 << BUCKET_BITS) + 5)
    assert (number, orjson.loads(seqs)) == (found[0] | 3, [(3 << BUCKET_BITS) + 5])


def test_counts_are_of_every_policy_that_fired(store: SqliteStore) -> None:
    """Counts have one row a minute for all decisions and one for each policy that fired."""
    blocks = [entry(number, fired=((POLICY, "Monitor"),)) for number in range(3)]
    _, counts = count_log(b",".join(block.index for block in blocks), 1)
    minute = START_NS // 60_000_000_000
    common = [[3, 3, 0, 0], [0, 3, 0], [START_NS + 2, START_NS + 2]]
    assert sorted(orjson.loads(counts)) == [
        [[str(TENANT), "", minute, minute], *common],
        [[str(TENANT), str(POLICY), minute, minute], *common],
    ]


@pytest.mark.parametrize("index", [b"7", b"[]", b'["\xff"]', b"[1,2"])
def test_an_index_that_is_none_is_damage(store: SqliteStore, index: bytes) -> None:
    """A malformed index is reported as damage, and nothing is counted."""
    done(store.append([attrs.evolve(entry(1), index=index)]))
    with pytest.raises(DamagedLogError, match=r"row 1 .*index that is none"):
        store.index_now()
