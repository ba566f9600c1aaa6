"""The store on PostgreSQL: the contract, and what is PostgreSQL's own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from tests.store_contract.contract import StoreContract
from tests.store_contract.examples import (
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
from tests.stores.partition_schema import open_partition

from tidegate_server.stores import migrations, retention
from tidegate_server.stores.base import (
    FencedError,
    HeldError,
    SchemaError,
    StoreUnavailableError,
    UnknownOutcomeError,
    UnsafeDatabaseError,
)
from tidegate_server.stores.databases import migrate, need_partitions
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.decision_log.partition_log import PartitionLog, PostgresqlLog
from tidegate_server.stores.directory.claims import claim_database
from tidegate_server.stores.index import idempotency
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.postgresql import PostgresqlStore
from tidegate_server.stores.rows.postgresql import connect, shown, writing_engine

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from tools.database_pair import Pair


KEY = bytes(range(16)), bytes(16)


class TestPostgresqlStore(StoreContract):
    """PostgreSQL with a synchronous standby keeps the contract of a store."""

    @pytest.fixture
    def url(self, postgresql: Pair, migrated: str) -> str:
        """A database of its own."""
        return postgresql.url(postgresql.new_database(template=migrated))

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Opens the database."""
        return PostgresqlStore


class TestPostgresqlLog(PartitionLogContract):
    """The log on PostgreSQL with a synchronous standby keeps the contract of a partition's log."""

    @pytest.fixture
    def url(self, postgresql: Pair, migrated: str) -> str:
        """A database of its own."""
        return postgresql.url(postgresql.new_database(template=migrated))

    @pytest.fixture
    def connect(self) -> Connect:
        """Opens a connection that writes."""
        return lambda url: writing_engine(url).connect()

    @pytest.fixture
    def make_log(self) -> Callable[[], PartitionLog]:
        """Makes the log of the first partition."""
        return lambda: PostgresqlLog(0)


class TestPartitionOfPostgresql(StoreContract):
    """A further partition keeps the contract, with its log in a schema of its own."""

    @pytest.fixture
    def url(self, postgresql: Pair, migrated: str) -> str:
        """A database of its own."""
        return postgresql.url(postgresql.new_database(template=migrated))

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Opens the partition."""
        return open_partition


class TestLogOfPartition(PartitionLogContract):
    """The log of a further partition keeps the contract of a partition's log."""

    @pytest.fixture
    def url(self, postgresql: Pair, migrated: str) -> str:
        """A database of its own."""
        return postgresql.url(postgresql.new_database(template=migrated))

    @pytest.fixture
    def connect(self) -> Connect:
        """Opens a connection that writes."""

        def open_writing(url: str) -> Connection:
            need_partitions(url, 2)
            return writing_engine(url, 1).connect()

        return open_writing

    @pytest.fixture
    def make_log(self) -> Callable[[], PartitionLog]:
        """Makes the log of the partition."""
        return lambda: PostgresqlLog(1)


@pytest.fixture
def url(postgresql: Pair, migrated: str) -> str:
    """An empty database with the tables."""
    return postgresql.url(postgresql.new_database(template=migrated))


@pytest.fixture
def owner(url: str) -> Iterator[PostgresqlStore]:
    """A store that appended: it is the owner of the log."""
    store = PostgresqlStore(url)
    done(store.append([entry(1)]))
    yield store
    store.close()


def begin_epoch(url: str) -> None:
    """The first step of another owner."""
    with connect(url) as connection:
        connection.execute("UPDATE partitions SET epoch = epoch + 1")


def numbers(url: str) -> list[int]:
    """The numbers of all decisions in the log."""
    store = PostgresqlStore(url)
    try:
        with store.read() as connection:
            return [line.seq for line in log.scan(connection)]
    finally:
        store.close()


def wait_for_locked(url: str) -> None:
    """Return when some statement waits for a lock of another."""
    until = threading.Event()
    with connect(url) as connection:
        for _ in range(WAIT_SECONDS * 50):
            (waiting,) = connection.execute(
                "SELECT count(*) FROM pg_locks WHERE NOT granted"
            ).fetchone()
            if waiting:
                return
            until.wait(0.02)
    raise AssertionError("nothing waits")


def test_a_late_append_of_an_earlier_epoch_takes_no_row(owner: PostgresqlStore, url: str) -> None:
    """After a claim nothing of the earlier owner is taken, and it takes no work up again."""
    begin_epoch(url)
    with pytest.raises(FencedError):
        done(owner.append([entry(2)]))
    with pytest.raises(FencedError):
        owner.recover()
    assert not owner.is_accepting
    assert numbers(url) == [1]


def test_a_write_of_an_earlier_epoch_changes_nothing(owner: PostgresqlStore, url: str) -> None:
    """An earlier owner writes nothing, since its knowledge may be outdated."""
    begin_epoch(url)
    with pytest.raises(FencedError):
        done(owner.write(lambda connection: put(connection, "late")))
    with owner.read() as connection:
        assert names(connection) == []


def test_the_end_of_an_ownership_is_told_once(url: str) -> None:
    """The end of an ownership is reported once, with the reason."""
    told: list[StoreUnavailableError] = []
    store = PostgresqlStore(url, lock=claim_database(url), ended=told.append)
    try:
        begin_epoch(url)
        for number in (1, 2):
            with pytest.raises(StoreUnavailableError):
                done(store.append([entry(number)]))
    finally:
        store.close()
    assert [type(each) for each in told] == [FencedError]


def test_an_owner_whose_lock_is_gone_stops(url: str) -> None:
    """The lock is another session than the one that commits: the owner notices within a second."""
    told = threading.Event()
    store = PostgresqlStore(url, lock=claim_database(url), ended=lambda _error: told.set())
    try:
        done(store.append([entry(1)]))
        with connect(url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks"
                " WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()"
            )
        assert told.wait(WAIT_SECONDS)
        with pytest.raises(FencedError):
            done(store.append([entry(2)]))
    finally:
        store.close()
    assert numbers(url) == [1]


def test_a_claim_waits_for_an_append_in_flight(owner: PostgresqlStore, url: str) -> None:
    """Appends made before the claim ends come before it, whichever commits first."""
    with Held(owner):
        in_flight = owner.append([entry(2)])
        owner.write(lambda connection: put(connection, "same commit"))
    held, release = threading.Event(), threading.Event()

    def hold(_connection: object) -> None:
        held.set()
        release.wait(WAIT_SECONDS)

    with Held(owner):
        last = owner.append([entry(3)])
        owner.write(hold)
    assert held.wait(WAIT_SECONDS)
    claiming = threading.Thread(target=begin_epoch, args=(url,))
    claiming.start()
    wait_for_locked(url)
    assert claiming.is_alive()
    release.set()
    claiming.join(WAIT_SECONDS)
    done(in_flight)
    done(last)
    assert numbers(url) == [1, 2, 3]


def test_an_append_that_waited_behind_a_claim_takes_no_row(
    owner: PostgresqlStore, url: str
) -> None:
    """An append that began before a claim was committed is refused once it is."""
    with connect(url) as connection:
        with connection.transaction():
            connection.execute("UPDATE partitions SET epoch = epoch + 1")
            behind = owner.append([entry(2)])
            wait_for_locked(url)
            assert not behind.done()
        with pytest.raises(FencedError):
            done(behind)
    assert numbers(url) == [1]


def claim_under(url: str, term: int) -> None:
    """Begin an epoch under a term of the placement."""
    with writing_engine(url).connect() as connection:
        PostgresqlLog(0).claim(connection, "{}", term)


def test_a_claim_under_an_earlier_term_is_refused(url: str) -> None:
    """A claim that comes late fences nobody: the owner of the later term goes on."""
    store = PostgresqlStore(url)
    try:
        store.claim(claim_database(url), 5)
        with pytest.raises(FencedError):
            claim_under(url, 4)
        done(store.append([entry(1)]))
        claim_under(url, 5)
        with pytest.raises(FencedError):
            done(store.append([entry(2)]))
    finally:
        store.close()
    assert numbers(url) == [1]


def test_a_claim_that_waited_behind_one_of_a_later_term_is_refused(url: str) -> None:
    """A claim that began before the later one was committed is refused once it is."""
    refused: list[FencedError] = []

    def claim_late() -> None:
        try:
            claim_under(url, 4)
        except FencedError as error:
            refused.append(error)

    late = threading.Thread(target=claim_late)
    with connect(url) as connection, connection.transaction():
        connection.execute("UPDATE partitions SET epoch = epoch + 1, term = 5")
        late.start()
        wait_for_locked(url)
    late.join(WAIT_SECONDS)
    assert len(refused) == 1
    with connect(url) as connection:
        assert connection.execute("SELECT term FROM partitions").fetchone() == (5,)


def test_a_number_is_not_taken_twice(owner: PostgresqlStore, url: str) -> None:
    """Rows under a number that is there are refused, and nothing of them is kept."""
    with connect(url) as connection:
        connection.execute(
            "INSERT INTO decision_log SELECT 2, tenant_id, count, received_at_ns, first_id,"
            " last_id, index_body, body, checksum, previous_seq FROM decision_log"
        )
    with pytest.raises(StoreUnavailableError, match="already"):
        done(owner.append([entry(2), entry(3)]))
    assert numbers(url) == [1, 2]
    # It was refused for certain: the owner stays, and goes on behind what it finds.
    owner.recover()
    done(owner.append([entry(3)]))
    assert numbers(url) == [1, 2, 3]


def test_a_second_owner_is_refused_and_one_that_waits_takes_over(url: str) -> None:
    """A session's lock says at once who lives; its end lets the next one in, in a new epoch."""
    first = claim_database(url)
    first.describe("http://127.0.0.1:8080")
    with pytest.raises(HeldError, match=r"serving on http://127\.0\.0\.1:8080"):
        claim_database(url)
    store = PostgresqlStore(url, lock=first)
    waiting = threading.Event()
    taken: list[PostgresqlStore] = []

    def take_over() -> None:
        lock = claim_database(url, lambda _holder: waiting.set())
        taken.append(PostgresqlStore(url, lock=lock))

    thread = threading.Thread(target=take_over)
    thread.start()
    assert waiting.wait(WAIT_SECONDS)
    done(store.append([entry(1)]))
    store.close()
    thread.join(WAIT_SECONDS)
    try:
        done(taken[0].append([entry(2)]))
    finally:
        taken[0].close()
    assert numbers(url) == [1, 2]


def test_a_commit_that_ends_with_its_connection_is_of_unknown_outcome(
    owner: PostgresqlStore, url: str
) -> None:
    """Nobody can tell whether it was kept, so the owner takes nothing more."""

    def cut(connection: object) -> None:
        with connect(url) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE state = 'idle in transaction' AND pid <> pg_backend_pid()"
                " AND datname = current_database()"
            )

    with Held(owner):
        lost = owner.append([entry(2)])
        owner.write(cut)
        behind = owner.append([entry(3)])
    for each in (lost, behind):
        with pytest.raises(UnknownOutcomeError):
            done(each)
    with pytest.raises(UnknownOutcomeError):
        owner.recover()


def test_a_commit_whose_wait_for_the_standby_was_cut_short_is_of_unknown_outcome(
    owner: PostgresqlStore, postgresql: Pair, url: str
) -> None:
    """The row is on the primary alone: it was not acknowledged, and the owner stops."""
    postgresql.primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    postgresql.primary.execute("SELECT pg_reload_conf()")
    try:
        with connect(url) as connection:
            until = threading.Event()
            while connection.execute("SHOW synchronous_standby_names").fetchone() != ("nobody",):
                until.wait(0.02)
            future = owner.append([entry(2)])
            waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            while not (found := connection.execute(waiting).fetchall()):
                until.wait(0.02)
            assert not future.done()
            for (pid,) in found:
                connection.execute("SELECT pg_cancel_backend(%s)", (pid,))
            with pytest.raises(UnknownOutcomeError, match="warning"):
                done(future)
    finally:
        postgresql.primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby)'")
        postgresql.primary.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("synchronous_commit", "off"),
        ("synchronous_commit", "local"),
        ("synchronous_commit", "remote_write"),
    ],
)
def test_a_database_that_promises_less_is_refused(url: str, setting: str, value: str) -> None:
    """One sentence says what is set, and how to mend it."""
    with connect(url) as connection:
        connection.execute(f"ALTER DATABASE tidegate SET {setting} = '{value}'")
        try:
            with pytest.raises(UnsafeDatabaseError, match=f"`{setting} = {value}`.*set it to `on`"):
                PostgresqlStore(url)
        finally:
            connection.execute(f"ALTER DATABASE tidegate RESET {setting}")


def test_a_database_without_a_standby_is_refused_unless_none_is_wanted(
    postgresql: Pair, url: str
) -> None:
    """Where the loss of one machine may not lose anything, a standby has to be named."""
    postgresql.primary.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
    postgresql.primary.execute("SELECT pg_reload_conf()")
    try:
        with connect(url) as connection:
            until = threading.Event()
            while connection.execute("SHOW synchronous_standby_names").fetchone() != ("",):
                until.wait(0.02)
        with pytest.raises(UnsafeDatabaseError, match=r"store\.standby"):
            PostgresqlStore(url)
        PostgresqlStore(url, standby="none").close()
    finally:
        postgresql.primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby)'")
        postgresql.primary.execute("SELECT pg_reload_conf()")


def test_no_message_shows_the_password() -> None:
    """A database that cannot be reached is named by host and name alone."""
    address = "postgresql://ann:s3cret@127.0.0.1:1/shop"
    assert shown(address) == "postgresql://127.0.0.1:1/shop"
    with pytest.raises(StoreUnavailableError) as raised:
        PostgresqlStore(address)
    assert "s3cret" not in str(raised.value)
    with pytest.raises(ValueError, match="no address") as refused:
        PostgresqlStore("postgresql://ann:s3cret@[half/shop")
    assert "s3cret" not in str(refused.value)


def test_retention_deletes_what_is_too_old(url: str) -> None:
    """Decisions, what was derived of them, and what a deleted tenant left go in steps."""
    store = PostgresqlStore(url)
    end = retention.END_OF_TIME_NS
    try:
        done(store.write(lambda connection: tenants.create(connection, tenant())))
        done(store.append([entry(number, idempotency=KEY) for number in range(1, 4)]))
        store.learn_now()
        last = store.flush_derived()
        assert done(store.write(lambda found: retention.prune(found, TENANT, end, last))) == 1
        assert done(store.derive(lambda found: retention.prune_derived(found, TENANT, end))) > 0
        assert done(store.derive(lambda found: idempotency.prune(found, end // 2))) == 1
        done(store.append([entry(4)]))
        done(store.write(lambda connection: tenants.delete(connection, TENANT)))
        with store.read() as connection:
            assert retention.orphans(connection) == [TENANT]
        store.learn_now()
        done(store.write(lambda found: retention.prune(found, TENANT, end, 4)))
        while done(store.write(lambda found: retention.forget(found, TENANT))):
            pass
        while done(store.derive(lambda found: retention.forget_derived(found, TENANT))):
            pass
        with store.read() as connection:
            assert retention.orphans(connection) == []
            assert log.last_seq(connection) == 4
    finally:
        store.close()


def test_derived_tables_of_another_version_are_left_to_a_migration(url: str) -> None:
    """A store that opens may be one of several, and the others derive into them; a migration makes
    those of each partition anew."""
    need_partitions(url, 2)
    with connect(url) as connection:
        for schema in ("derived", "derived_1"):
            connection.execute(f"UPDATE {schema}.derived_meta SET value = 0 WHERE name = 'version'")
    for partition in (0, 1):
        with pytest.raises(SchemaError, match=r"of version 0.*stop every node"):
            PostgresqlStore(url, partition=partition)
    migrate(url)
    for partition in (0, 1):
        PostgresqlStore(url, partition=partition).close()


def test_tables_that_do_not_say_what_code_runs_on_them_are_migrated(url: str) -> None:
    """They say it from then on."""
    with connect(url) as connection:
        connection.execute("ALTER TABLE schema_version DROP COLUMN runs_from")
        connection.execute("UPDATE schema_version SET version_num = '0015'")
        # Later migrations drop these, and make others.
        made = "operator_sessions, second_factors, compiled_sets, alerts, alert_messages"
        connection.execute(f"DROP TABLE cluster_partitions, list_refreshes, {made}")
        connection.execute("CREATE TABLE cluster_placements ()")
    migrate(url)
    with connect(url) as connection:
        found = connection.execute("SELECT version_num, runs_from FROM schema_version").fetchall()
    assert found == [(migrations.HEAD, migrations.RUNS_FROM)]


def test_newer_tables_get_no_partition_of_this_version(url: str) -> None:
    """It would lack what the newer version added to the log."""
    with connect(url) as connection:
        connection.execute("UPDATE schema_version SET version_num = '9999'")
    PostgresqlStore(url).close()
    assert need_partitions(url, 1) == 1
    with pytest.raises(SchemaError, match="needs the version that wrote it"):
        need_partitions(url, 2)
