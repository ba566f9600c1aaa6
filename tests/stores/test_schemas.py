"""Partitions of a database of PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.store_contract.examples import done, entry, put
from tests.stores.partition_schema import open_partition

from tidegate_server.stores.databases import migrate, need_partitions
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.postgresql import PostgresqlStore
from tidegate_server.stores.rows.postgresql import connect

if TYPE_CHECKING:
    from tools.database_pair import Pair


def test_partitions_are_made_once_and_kept(postgresql: Pair) -> None:
    """Processes that want them at once make each of them once; who wants fewer has all."""
    url = postgresql.url(postgresql.new_database())
    migrate(url)
    assert need_partitions(url, 1) == 1
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda _: need_partitions(url, 3), range(3))) == [3, 3, 3]
    assert need_partitions(url, 1) == 3
    with connect(url) as connection:
        rows = connection.execute("SELECT partition_id, epoch FROM partitions ORDER BY 1")
        assert rows.fetchall() == [(0, 0), (1, 0), (2, 0)]
        ids = [
            connection.execute(f"SELECT value FROM {each} WHERE name = 'log_id'").fetchone()
            for each in ("store_meta", "partition_1.store_meta", "partition_2.store_meta")
        ]
        assert len(set(ids)) == 3


def test_logs_are_apart_and_everything_else_is_shared(postgresql: Pair) -> None:
    """Each partition numbers its own decisions; the others hear of a change of what all share."""
    url = postgresql.url(postgresql.new_database())
    migrate(url)
    second, first = open_partition(url), PostgresqlStore(url)
    try:
        done(first.append([entry(1), entry(2)]))
        done(second.append([entry(3)]))
        ids = []
        for store in (first, second):
            with store.read() as connection:
                ids.append([(line.seq, bytes(line.line)) for line in log.scan(connection)])
        assert [seq for seq, _ in ids[0]] == [1, 2]
        assert [seq for seq, _ in ids[1]] == [1]
        assert not {each for _, each in ids[0]} & {each for _, each in ids[1]}
        for changing, other in ((first, second), (second, first)):
            other.changed()
            done(changing.write(lambda connection: put(connection, f"of {changing.partition}")))  # noqa: B023
            assert other.changed()
    finally:
        second.close()
        first.close()
