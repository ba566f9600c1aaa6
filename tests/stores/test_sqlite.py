"""The store on SQLite: the contract, and what is SQLite's own."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
from pysqlite3 import dbapi2
from sqlalchemy import Connection
from tests.store_contract.contract import StoreContract
from tests.store_contract.examples import (
    START_NS,
    TENANT,
    WAIT_SECONDS,
    Held,
    OpenStore,
    done,
    entry,
    names,
    put,
    tenant,
)
from tests.store_contract.partition_log import Connect, PartitionLogContract
from tests.stores.partition import open_partition

from tidegate_server.stores.base import DamagedLogError, StoreUnavailableError
from tidegate_server.stores.committing import rows
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import lines, log, snapshots
from tidegate_server.stores.decision_log.partition_log import PartitionLog, SqliteLog
from tidegate_server.stores.directory.partitions import is_made, make_partition
from tidegate_server.stores.index import derived, results
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.port import Store
from tidegate_server.stores.rows import connections
from tidegate_server.stores.sqlite import SqliteStore

Url = str


@pytest.fixture
def url(tmp_path: Path) -> Url:
    """A file in a directory of its own."""
    return f"sqlite:///{tmp_path}/data/tidegate.db"


@pytest.fixture
def store(url: Url) -> Iterator[SqliteStore]:
    """A new store."""
    migrate(url)
    store = SqliteStore(url)
    yield store
    store.close()


class TestPartition(StoreContract):
    """A store whose log is in a file next to the database keeps the same contract."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        """A file in a directory of its own."""
        return f"sqlite:///{tmp_path}/data/tidegate.db"

    def test_acknowledged_work_survives_kill_9(
        self, url: str, open_store: OpenStore, process: None
    ) -> None:
        """A write that was reported durable is there after the process was killed."""
        super().test_acknowledged_work_survives_kill_9(url, open_store)

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Opens the partition."""
        return open_partition


@pytest.mark.parametrize("number", [0, 1])
class TestSqliteLog(PartitionLogContract):
    """The log in a file keeps the contract of a partition's log, in the database and next to it."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        """A file in a directory of its own."""
        return f"sqlite:///{tmp_path}/data/tidegate.db"

    @pytest.fixture
    def connect(self, number: int) -> Connect:
        """Opens a connection that writes."""

        def opened(url: str) -> Connection:
            database = connections.database_path(url)
            if number and not is_made(database, number):
                make_partition(database, number, b"i" * 16)
            return connections.writing_engine(database, number).connect()

        return opened

    @pytest.fixture
    def make_log(self, number: int) -> Callable[[], PartitionLog]:
        """Makes the log of the partition."""
        return lambda: SqliteLog(number)


class TestSqliteStore(StoreContract):
    """SQLite keeps the contract of a store."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        """A file in a directory of its own."""
        return f"sqlite:///{tmp_path}/data/tidegate.db"

    def test_acknowledged_work_survives_kill_9(
        self, url: str, open_store: OpenStore, process: None
    ) -> None:
        """A write that was reported durable is there after the process was killed."""
        super().test_acknowledged_work_survives_kill_9(url, open_store)

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Opens the file."""
        return SqliteStore


def limit_pages(connection: Connection, pages: int) -> None:
    """Let the database have at most this many pages, as on a full disk."""
    connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")


def fill(number: int) -> lines.LogBlock:
    """A decision that needs many pages."""
    return entry(number, event={"fields": {"noise": os.urandom(400_000).hex()}})


def test_a_full_disk_fails_the_whole_commit_and_what_waits_behind_it(store: SqliteStore) -> None:
    """A full disk fails the whole commit and the decisions behind it, which rest on it."""
    done(store.append([entry(1)]))
    with Held(store):
        store.write(lambda connection: limit_pages(connection, 60))
    with Held(store):
        lost = [
            store.append([fill(2)]),
            store.write(lambda connection: put(connection, "lost")),
            store.append([entry(3)]),
        ]
    for future in lost:
        with pytest.raises(StoreUnavailableError, match="full"):
            done(future)
    with pytest.raises(StoreUnavailableError, match="full"):
        store.append([entry(4)])
    with pytest.raises(StoreUnavailableError):
        store.write(log.last_seq)
    assert store.statistics().failed_commits == 1
    with store.read() as connection:
        assert log.last_seq(connection) == 1
        assert names(connection) == []


def test_a_full_disk_fails_a_commit_of_decisions_alone(store: SqliteStore) -> None:
    """The commit of one statement is lost as a whole too."""
    done(store.write(lambda connection: limit_pages(connection, 60)))
    with pytest.raises(StoreUnavailableError, match="full"):
        done(store.append([fill(1)]))
    with store.read() as connection:
        assert log.last_seq(connection) == 0


def test_a_full_disk_inside_a_write_fails_its_whole_commit(store: SqliteStore) -> None:
    """SQLite may have undone everything: nothing of the group is acknowledged."""

    def work(connection: Connection) -> None:
        limit_pages(connection, 60)
        body = os.urandom(1_000_000)
        taken = snapshots.Snapshot(
            tenant_id=TENANT, seq=1, revision=1, body=body, created_at_ns=START_NS
        )
        snapshots.save(connection, taken)

    done(store.write(lambda connection: tenants.create(connection, tenant())))
    with Held(store):
        futures = [store.append([entry(1)]), store.write(work)]
    for future in futures:
        with pytest.raises(StoreUnavailableError, match="full"):
            done(future)
    with store.read() as connection:
        assert log.last_seq(connection) == 0


def test_writing_is_taken_up_again_after_a_recovery(store: SqliteStore) -> None:
    """After a recovery the log continues without a gap, and nothing lost comes back."""
    done(store.append([entry(1)]))
    done(store.write(lambda connection: limit_pages(connection, 60)))
    with pytest.raises(StoreUnavailableError):
        done(store.append([fill(2)]))
    store.recover()
    done(store.append([entry(3), entry(4)]))
    store.index_now()
    with store.read() as connection:
        answers = [line.decision().answer for line in log.scan(connection)]
        assert results.of_policy(connection, TENANT).total == 3
    assert answers == [b'{"number":1}', b'{"number":3}', b'{"number":4}']


def test_a_locked_database_is_unavailable_until_the_lock_is_gone(
    url: Url, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that holds the lock too long costs refusals, not decisions."""
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    migrate(url)
    store = SqliteStore(url)
    other = dbapi2.connect(store.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="locked"):
            done(store.append([entry(1)]))
        with pytest.raises(StoreUnavailableError, match="locked"):
            store.recover()
        with pytest.raises(StoreUnavailableError, match="locked"):
            store.append([entry(2)])
        other.execute("ROLLBACK")
        store.recover()
        done(store.append([entry(3)]))
    finally:
        other.close()
        store.close()


def test_one_process_appends(store: SqliteStore, url: Url) -> None:
    """A second server is refused and goes on when the first has ended; other writes are free."""
    done(store.append([entry(1)]))
    second = SqliteStore(url)
    try:
        done(second.write(lambda connection: put(connection, "free")))
        with pytest.raises(StoreUnavailableError, match="belongs to process"):
            done(second.append([entry(2)]))
        with pytest.raises(StoreUnavailableError, match="belongs to process"):
            second.recover()
        done(store.append([entry(3)]))
        store.close()
        second.recover()
        done(second.append([entry(4)]))
        with second.read() as connection:
            answers = [line.decision().answer for line in log.scan(connection)]
    finally:
        second.close()
    assert answers == [b'{"number":1}', b'{"number":3}', b'{"number":4}']


def test_two_processes_index_a_decision_once(store: SqliteStore, url: Url) -> None:
    """A command that opens the database of a running server counts nothing again."""
    with Held(store):
        appended = store.append([entry(number) for number in range(10)])
    done(appended)
    second = SqliteStore(url)
    try:
        store.index_now()
        second.index_now()
        assert second.statistics().indexed_seq == 10
        with second.read() as connection:
            assert results.of_policy(connection, TENANT).total == 10
    finally:
        second.close()


def alter(store: SqliteStore, statement: str) -> None:
    """Change the file behind the store's back."""
    other = dbapi2.connect(store.path)
    with other:
        other.execute(statement)
    other.close()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("body = CAST(substr(body, 1, 40) || x'00' || substr(body, 42) AS BLOB)", "check"),
        ("body = substr(body, 1, length(body) - 1)", "check"),
        ("body = x'00'", "check|size"),
        ("count = 4", "holds 3 decisions, not 4"),
    ],
)
def test_a_damaged_row_is_named(store: SqliteStore, change: str, what: str) -> None:
    """A row that is not what was written is never taken for decisions."""
    done(store.append([entry(1), entry(2), entry(3)]))
    alter(store, f"UPDATE decision_log SET {change}")
    with store.read() as connection:
        with pytest.raises(DamagedLogError, match=f"row 1 .*({what})") as damaged:
            log.read(connection, 2)
        assert damaged.value.seq == 1
        with pytest.raises(DamagedLogError):
            list(log.scan(connection))


@pytest.mark.parametrize(
    ("statement", "seq"),
    [
        ("UPDATE decision_log SET index_body = x'28b52ffd' WHERE first_seq = 2", 2),
        ("DELETE FROM decision_log WHERE first_seq = 2", 2),
        ("DELETE FROM decision_log", 1),
    ],
)
def test_the_index_does_not_pass_over_damage(store: SqliteStore, statement: str, seq: int) -> None:
    """The index reports lost decisions and does not leave them out of the counts."""
    with Held(store):
        futures = [store.append([entry(1)])]
        futures.append(store.write(lambda _connection: None))
        futures.append(store.append([entry(2)]))
        futures.append(store.write(lambda _connection: None))
        futures.append(store.append([entry(3)]))
        futures.append(
            store.write(lambda connection: connection.exec_driver_sql(statement) and None)
        )
    for future in futures:
        done(future)
    with pytest.raises(DamagedLogError, match=f"row {seq} "):
        store.index_now()
    assert f"row {seq} " in str(store.statistics().index_error)
    done(store.append([entry(4)]))


def test_an_index_step_that_breaks_leaves_nothing(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step and how far it came are one transaction: done again, nothing counts twice."""

    def break_off(*_: object) -> None:
        raise StoreUnavailableError("broken off")

    with monkeypatch.context() as patched:
        patched.setattr(derived, "set_indexed_seq", break_off)
        done(store.append([entry(number) for number in range(10)]))
        with pytest.raises(StoreUnavailableError, match="broken off"):
            store.index_now()
        assert store.statistics().index_error == "broken off"
        with store.read() as connection:
            assert results.of_policy(connection, TENANT).total == 0
    store.index_now()
    assert store.statistics().index_error is None
    with store.read() as connection:
        assert results.of_policy(connection, TENANT).total == 10


def test_a_damaged_snapshot_is_passed_over(store: SqliteStore) -> None:
    """The one before it gives the same state, with more of the log."""
    done(store.write(lambda connection: tenants.create(connection, tenant())))
    for seq in (1, 2):
        taken = snapshots.Snapshot(
            tenant_id=TENANT, seq=seq, revision=1, body=b"state " * 9, created_at_ns=START_NS
        )
        done(store.write(lambda connection: snapshots.save(connection, taken)))  # noqa: B023
    alter(store, "UPDATE snapshot_parts SET body = substr(body, 1, 12) WHERE seq = 2")
    with store.read() as connection:
        assert [each.seq for each in snapshots.newest(connection, TENANT)] == [1]


def test_a_snapshot_may_be_larger_than_a_row_of_the_log(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of a million keys is; passed over, all of the log would have to be repeated."""
    monkeypatch.setattr(log, "MAX_ROW_BYTES", 1_000)
    size = 1_001
    done(store.write(lambda connection: tenants.create(connection, tenant())))
    taken = snapshots.Snapshot(
        tenant_id=TENANT, seq=1, revision=1, body=bytes(size), created_at_ns=START_NS
    )
    done(store.write(lambda connection: snapshots.save(connection, taken)))
    with store.read() as connection:
        assert [len(each.body) for each in snapshots.newest(connection, TENANT)] == [size]


def test_effects_are_found_whatever_stands_around_them(store: SqliteStore) -> None:
    """Texts of the sender or of the definitions that look like members of the line are not."""
    trap = b'{"x":",\\"effects\\":[1],\\"event\\":2","headers":{"a":"b","effects":"[1]"}}'
    effects = b'[["event","a",[",\\"event\\":{}"]]]'
    line = lines.encode_line(
        str(TENANT),
        1,
        None,
        b'",\\"effects\\":["',
        "runtime",
        None,
        1,
        5,
        trap,
        trap,
        effects,
        trap,
    )
    read = lines.LogLine(1, TENANT, line)
    assert read.effects() == effects == read.decision().effects


def test_a_store_that_is_idle_indexes_by_itself(store: SqliteStore) -> None:
    """An idle store indexes without being asked."""
    done(store.append([entry(1)]))
    until = time.monotonic() + WAIT_SECONDS
    while store.statistics().indexed_seq == 0 and time.monotonic() < until:
        time.sleep(0.001)
    assert store.statistics().indexed_seq == 1


def test_the_file_is_its_owners_alone(store: SqliteStore) -> None:
    """Only the owner can read the database, its log and the directory."""
    done(store.append([entry(1)]))
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    for path in store.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_the_writer_is_durable(store: SqliteStore) -> None:
    """WAL with a flush at each commit, foreign keys, and a checkpoint size of our choice."""

    def settings(connection: Connection) -> list[object]:
        read = ("journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in read]

    assert done(store.write(settings)) == ["wal", 2, 1, connections.MAX_WAL_PAGES]


def test_a_store_is_its_port(store: SqliteStore) -> None:
    """The class has everything the protocol asks for, by the type checker's judgement."""
    port: Store = store
    assert port.statistics().commits == 0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([1, 1, 1], [3]), ([64] * 5, [256, 64]), ([255, 2, 256, 1], [255, 2, 256, 1]), ([256], [256])],
)
def test_blocks_are_joined_to_rows(counts: list[int], expected: list[int]) -> None:
    """A row takes whole blocks, as many as fit."""
    blocks = [attrs.evolve(entry(number), count=count) for number, count in enumerate(counts)]
    assert [sum(block.count for block in row) for row in rows(blocks)] == expected
