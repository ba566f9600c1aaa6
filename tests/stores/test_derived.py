"""The derived file: made again from the log whenever it is not what it should be."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pysqlite3 import dbapi2
from sqlalchemy import Connection
from tests.store_contract.examples import (
    OTHER_TENANT,
    START_NS,
    TENANT,
    WAIT_SECONDS,
    done,
    entry,
)
from tests.store_contract.index import key

from tidegate_server.stores import retention
from tidegate_server.stores.base import StoreUnavailableError, UnsafeDatabaseError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.index import catalog, derived, deriving, idempotency, indexing, results
from tidegate_server.stores.rows.connections import derived_path
from tidegate_server.stores.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database in a directory of its own."""
    path = tmp_path / "data" / "tidegate.db"
    migrate(url(path))
    return path


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def fill(path: Path, numbers: range, *, is_indexed: bool = True) -> None:
    """Log decisions, in the life of one process."""
    store = SqliteStore(url(path))
    for start in range(numbers.start, numbers.stop, 10):
        part = range(start, min(start + 10, numbers.stop))
        done(
            store.append(
                [
                    entry(each, idempotency=key(each), event={"fields": {"n": str(each)}})
                    for each in part
                ]
            )
        )
    if is_indexed:
        store.learn_now()
    store.close()


def check(path: Path, count: int) -> None:
    """Everything is derived, once, from a number of decisions."""
    store = SqliteStore(url(path))
    try:
        store.learn_now()
        with store.read() as connection:
            assert results.of_policy(connection, TENANT).total == count
            for seq in range(1, count + 1):
                found = idempotency.find(connection, key(seq - 1)[0], START_NS)
                assert found == idempotency.UsedKey(key(seq - 1)[1], seq)
            assert [each.name for each in catalog.fields(connection, TENANT)] == ["fields.n"]
    finally:
        store.close()


def delete(path: Path) -> None:
    derived_path(path).unlink()


def damage(path: Path) -> None:
    derived_path(path).write_bytes(b"no database" * 1_000)


def empty(path: Path) -> None:
    derived_path(path).write_bytes(b"")


def outdate(path: Path) -> None:
    with dbapi2.connect(derived_path(path)) as connection:
        connection.execute(f"PRAGMA user_version = {derived.VERSION - 1}")


def strip(path: Path) -> None:
    with dbapi2.connect(derived_path(path)) as connection:
        connection.execute("DROP TABLE derived_meta")


def exchange(path: Path) -> None:
    """Take the file of another log."""
    other = path.with_name("other.db")
    migrate(url(other))
    fill(other, range(3))
    derived_path(other).rename(derived_path(path))


@pytest.mark.parametrize("change", [delete, damage, empty, outdate, strip, exchange])
def test_a_file_that_is_not_right_is_made_again(path: Path, change: Callable[[Path], None]) -> None:
    """A wrong derived file is made again, and everything is derived from the log."""
    fill(path, range(25))
    change(path)
    check(path, 25)


def test_a_file_that_was_cut_anywhere_is_read_or_made_again(path: Path) -> None:
    """Pages that are missing never end in anything but a store that opens."""
    fill(path, range(25))
    whole = derived_path(path).read_bytes()
    for length in range(910, len(whole), 2056):
        derived_path(path).write_bytes(whole[:length])
        SqliteStore(url(path)).close()
    check(path, 25)


def test_a_file_that_knows_more_than_the_log_is_made_again(path: Path) -> None:
    """A derived file ahead of a restored database is made again."""
    fill(path, range(10))
    backup = path.read_bytes()
    fill(path, range(10, 25))
    path.write_bytes(backup)
    check(path, 10)


def test_what_was_deleted_of_the_log_is_all_that_is_lost(path: Path) -> None:
    """A log with gaps where decisions of one tenant were too old is derived from all the same."""
    store = SqliteStore(url(path))
    for number in range(0, 12, 2):
        done(store.append([entry(number)]))
        done(store.append([entry(number + 1, OTHER_TENANT)]))
    flushed = store.flush_derived()
    far = retention.END_OF_TIME_NS
    while done(store.write(lambda c: retention.prune(c, OTHER_TENANT, far, flushed))):
        pass
    while done(store.write(lambda c: retention.prune(c, TENANT, START_NS + 6, flushed))):
        pass
    store.close()
    delete(path)
    store = SqliteStore(url(path))
    try:
        store.learn_now()
        assert store.statistics().indexed_seq == flushed == 12
        with store.read() as connection:
            assert results.of_policy(connection, TENANT).total == 3
            assert results.of_policy(connection, OTHER_TENANT).total == 0
        done(store.append([entry(13)]))
        store.index_now()
        with store.read() as connection:
            assert results.of_policy(connection, TENANT).total == 4
    finally:
        store.close()


def killed(work: Callable[[], None]) -> bool:
    """Do something in another process; whether that was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def kill(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("place", ["read_batch", "index_batch", "set_indexed_seq"])
def test_killed_before_it_was_derived_it_is_derived_by_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A committed decision is counted once, wherever the deriving step was killed."""
    fill(path, range(10))
    with monkeypatch.context() as patched:
        patched.setattr(derived if place == "set_indexed_seq" else indexing, place, kill)
        assert killed(lambda: fill(path, range(10, 25)))
    with dbapi2.connect(path) as connection:
        found = connection.execute("SELECT max(first_seq + count - 1) FROM decision_log")
        logged = found.fetchone()[0]
    assert logged > 10 or place != "set_indexed_seq"
    check(path, logged)


@pytest.mark.parametrize("place", ["create_all", "make_file"])
def test_killed_while_it_was_made_it_is_made_by_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A file that is half made is not taken for one."""
    fill(path, range(5))
    delete(path)
    with monkeypatch.context() as patched:
        patched.setattr(derived if place == "make_file" else derived.derived_metadata, place, kill)
        assert killed(lambda: fill(path, range(5, 9)))
    check(path, 5)


def test_damage_found_while_serving_is_mended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is made again, readers see the new one, and decisions went on being logged."""
    store = SqliteStore(url(path))
    index_batch = indexing.index_batch

    def find_damage(*_: object) -> int:
        monkeypatch.setattr(indexing, "index_batch", index_batch)
        monkeypatch.setattr(derived, "is_whole", lambda _: False)
        error = dbapi2.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = dbapi2.SQLITE_CORRUPT
        raise error

    try:
        done(store.append([entry(number) for number in range(10)]))
        store.index_now()
        with store.read() as connection:
            assert results.of_policy(connection, TENANT).total == 10
        monkeypatch.setattr(indexing, "index_batch", find_damage)
        done(store.append([entry(10)]))
        with pytest.raises(StoreUnavailableError, match="malformed"):
            store.index_now()
        store.index_now()
        with store.read() as connection:
            assert results.of_policy(connection, TENANT).total == 11
    finally:
        store.close()


def test_another_process_does_not_make_it_again(path: Path) -> None:
    """While a server has it open, a command refuses to put another in its place."""
    store = SqliteStore(url(path))
    try:
        done(store.append([entry(1)]))
        derived_path(path).rename(path.with_name("moved"))
        with pytest.raises(StoreUnavailableError, match="belongs to process"):
            SqliteStore(url(path))
    finally:
        store.close()


def test_others_may_not_read_it(path: Path) -> None:
    """Only the owner can read the derived file, as with the log."""
    fill(path, range(1))
    derived_path(path).chmod(0o644)
    with pytest.raises(UnsafeDatabaseError, match="chmod 600"):
        SqliteStore(url(path))


def test_a_commit_does_not_wait_for_it(path: Path) -> None:
    """Decisions are logged, and found, while another process holds the derived file."""
    store = SqliteStore(url(path))
    other = dbapi2.connect(derived_path(path), isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        for number in range(50):
            done(store.append([entry(number)]))
        with store.read() as connection:
            assert log.last_seq(connection) == 50
        other.execute("ROLLBACK")
        store.index_now()
        assert store.statistics().indexed_seq == 50
    finally:
        other.close()
        store.close()


def test_it_keeps_up_by_itself(path: Path) -> None:
    """The derived file follows the log without being asked, also under load."""
    store = SqliteStore(url(path))
    try:
        end = time.monotonic() + WAIT_SECONDS
        number = 0
        while store.statistics().indexed_seq <= 5 and time.monotonic() < end:
            number += 1
            done(store.append([entry(number)]))
        assert store.statistics().indexed_seq > 5
    finally:
        store.close()


def test_what_comes_meanwhile_is_for_the_next_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decisions that arrive during a step are gathered for the next one."""
    monkeypatch.setattr(deriving, "PAUSE_SECONDS", 3_600.0)
    store = SqliteStore(url(path))
    index_batch = indexing.index_batch
    numbers = iter(range(100, 200))

    def append_and_index(connection: Connection, batch: indexing.Batch) -> int:
        done(store.append([entry(next(numbers))]))
        return index_batch(connection, batch)

    monkeypatch.setattr(indexing, "index_batch", append_and_index)
    try:
        done(store.append([entry(number) for number in range(10)]))
        store._deriver._keep_up()
        assert store.statistics().indexed_seq == 10
        assert store.statistics().committed_seq == 11
    finally:
        store.close()
