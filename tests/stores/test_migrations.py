"""Migrations: the tables they make, and what happens when one is interrupted."""

from __future__ import annotations

import os
import shutil
import signal
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from pysqlite3 import dbapi2
from sqlalchemy import event, text
from sqlalchemy.engine import Engine
from tests.store_contract.examples import START_NS, TENANT, decision_id, entity_id, entry

from tidegate_server.stores import migrations
from tidegate_server.stores.base import SchemaError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import decisions, lifts, log, replay_jobs
from tidegate_server.stores.index import derived, idempotency, results
from tidegate_server.stores.objects import audit
from tidegate_server.stores.rows import connections
from tidegate_server.stores.rows.tables import metadata
from tidegate_server.stores.sqlite import SqliteStore

KEY = bytes(range(16)), bytes(16)
LIFT = lifts.Lift(
    lift_id=decision_id(4),
    tenant_id=TENANT,
    entity_id=entity_id(1),
    at_ns=START_NS + 4,
    actor="ann",
    request_id="r-1",
    revision=1,
    mitigations=[{"policy": "p"}],
    effects=b"[]",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a new database."""
    return tmp_path / "data" / "tidegate.db"


def shape(connection: dbapi2.Connection) -> dict[str, Any]:
    """The tables of a database with their columns, keys and indexes, whatever made them."""
    tables = connection.execute(
        "SELECT name, wr, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite_%' AND name <> 'schema_version'"
    ).fetchall()
    return {
        name: {
            "kind": kind,
            "columns": connection.execute(f"PRAGMA table_xinfo({name})").fetchall(),
            "foreign keys": connection.execute(f"PRAGMA foreign_key_list({name})").fetchall(),
            "indexes": sorted(
                (unique, origin, connection.execute(f"PRAGMA index_xinfo({index})").fetchall())
                for _, index, unique, origin, _ in connection.execute(f"PRAGMA index_list({name})")
            ),
        }
        for name, *kind in tables
    }


def configuration() -> Config:
    """The configuration by which Alembic finds the migrations."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


def test_migrations_make_the_tables_of_the_code(path: Path) -> None:
    """A database that was carried through all of them is as one that was made by this version."""
    with at_revision(path, "0001"):
        pass
    migrate(f"sqlite:///{path}")
    whole = path.with_name("whole.db")
    migrate(f"sqlite:///{whole}")
    names = "SELECT name FROM store_meta ORDER BY name"
    rest = (
        "SELECT length(identity), partition_id, version_num, runs_from"
        " FROM store_identity, partitions, schema_version"
    )
    with dbapi2.connect(path) as made, dbapi2.connect(whole) as expected:
        assert shape(made) == shape(expected)
        assert len(shape(made)) == len(metadata.tables)
        for query in (names, rest):
            assert made.execute(query).fetchall() == expected.execute(query).fetchall()


def test_the_newest_revision_is_the_one_the_code_expects() -> None:
    """A new migration moves the newest revision and the expected one together."""
    script = ScriptDirectory.from_config(configuration())
    assert script.get_heads() == [migrations.HEAD]
    numbers = sorted(revision.revision for revision in script.walk_revisions())
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


def test_migrating_twice_changes_nothing(path: Path) -> None:
    """A database of this version is left as it is."""
    migrate(f"sqlite:///{path}")
    before = path.read_bytes()
    migrate(f"sqlite:///{path}")
    assert path.read_bytes() == before


STRIDE = 3
"""Statements between two kills: each kill costs a process."""


def kill_at(url: str, statement: int) -> bool:
    """Migrate in another process that is killed before one of its statements; whether it was."""
    child = os.fork()
    if child == 0:
        try:
            count = iter(range(statement))

            @event.listens_for(Engine, "before_cursor_execute")
            def kill(*_: object) -> None:
                if next(count, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)

            migrate(url)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def whole_revisions(path: Path) -> list[dict[str, Any]]:
    """The tables before the first migration, and after each."""
    connections.make_file(path)
    shapes: list[dict[str, Any]] = [{}]
    engine = connections.writing_engine(path)
    with engine.connect() as connection:
        config = configuration()
        config.attributes["connection"] = connection
        for number in range(1, int(migrations.HEAD) + 1):
            command.upgrade(config, f"{number:04}")
            shapes.append(shape(connections.driver_connection(connection)))
    engine.dispose()
    return shapes


@pytest.mark.parametrize("revision", [None, "0001"])
def test_a_migration_that_is_killed_is_run_again(
    path: Path, tmp_path: Path, revision: str | None
) -> None:
    """Killed between its statements, it leaves nothing half done, in a new database or an old."""
    whole = whole_revisions(tmp_path / "whole.db")
    url = f"sqlite:///{path}"
    connections.make_file(path)
    if revision is not None:
        with at_revision(tmp_path / "old.db", revision):
            pass
    statement = 0
    while True:
        if revision is not None:
            shutil.copy(tmp_path / "old.db", path)
        if not kill_at(url, statement):
            break
        with dbapi2.connect(path) as connection:
            assert shape(connection) in whole
        migrate(url)
        SqliteStore(url).close()
        for left in path.parent.iterdir():
            left.unlink()
        statement += STRIDE
    assert statement > len(metadata.tables)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            "UPDATE schema_version SET version_num = '9999', runs_from = '9998'",
            "9999.*from revision 9998 on.*knows",
        ),
        ("DELETE FROM schema_version", "tidegate migrate"),
        ("DROP TABLE schema_version", "revision none.*tidegate migrate"),
    ],
)
def test_a_database_of_another_version_is_refused(path: Path, change: str, what: str) -> None:
    """Code never works on tables it does not know."""
    url = f"sqlite:///{path}"
    migrate(url)
    connection = dbapi2.connect(path)
    with connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(SchemaError, match=what):
        SqliteStore(url)


def test_a_newer_database_is_not_migrated(path: Path) -> None:
    """Older code refuses a newer database and leaves it unchanged."""
    url = f"sqlite:///{path}"
    migrate(url)
    connection = dbapi2.connect(path)
    with connection:
        connection.execute("UPDATE schema_version SET version_num = '9999', runs_from = '9999'")
    connection.close()
    with pytest.raises(SchemaError, match="newer"):
        migrate(url)


def test_newer_tables_that_this_code_runs_on_are_taken(path: Path) -> None:
    """The store opens, and migrating leaves the number as it is; an exact copy is refused."""
    url = f"sqlite:///{path}"
    migrate(url)
    with dbapi2.connect(path) as connection:
        connection.execute("UPDATE schema_version SET version_num = '9999'")
    connection.close()
    SqliteStore(url).close()
    migrate(url)
    engine = connections.writing_engine(path)
    with engine.connect() as opened:
        assert migrations.current(opened) == "9999"
        assert migrations.is_additive(opened)
        with pytest.raises(SchemaError, match=r"9999.*knows"):
            migrations.check_same(opened)
    engine.dispose()


def test_a_migration_says_what_code_runs_on_its_tables() -> None:
    """A revision of code or an earlier one, and none earlier than the migration before said."""
    script = ScriptDirectory.from_config(configuration())
    said = {
        each.revision: getattr(each.module, "runs_from", None) for each in script.walk_revisions()
    }
    before = "0016"
    for revision in sorted(said):
        if revision < before:
            assert said[revision] is None
            continue
        assert said[revision] is not None, f"{revision} does not say its `runs_from`"
        assert before <= said[revision] <= revision
        before = said[revision]
    assert before == migrations.RUNS_FROM


def test_derived_tables_change_with_a_migration_that_older_code_does_not_run_on() -> None:
    """Nodes share derived tables, so earlier code never runs next to a newer version of these.

    A change of the version comes with a migration whose ``runs_from`` is its own number, and both
    are written here.
    """
    assert (derived.VERSION, migrations.RUNS_FROM) == (3, "0017")


@pytest.mark.parametrize(
    ("runs_from", "is_additive"), [("0016", False), ("0017", True), ("0018", True), ("0019", True)]
)
def test_running_code_stays_beside_a_migration_that_takes_nothing_away(
    path: Path, runs_from: str, is_additive: bool
) -> None:
    """A migration is additive if the oldest code that the database allowed runs on its tables."""
    migrate(f"sqlite:///{path}")
    engine = connections.writing_engine(path)
    with engine.connect() as connection, connection.begin():
        changed = text("UPDATE schema_version SET runs_from = :number")
        connection.execute(changed, {"number": runs_from})
        assert migrations.is_additive(connection) is is_additive
    engine.dispose()


def test_no_process_stays_beside_a_migration_of_tables_that_say_nothing(path: Path) -> None:
    """Earlier tables do not say what code runs on them, and an empty database has no code."""
    with at_revision(path, "0015"):
        engine = connections.writing_engine(path)
        with engine.connect() as connection:
            assert not migrations.is_additive(connection)
        engine.dispose()


@contextmanager
def at_revision(path: Path, revision: str) -> Iterator[Any]:
    """A new database as an earlier version made it."""
    connections.make_file(path)
    engine = connections.writing_engine(path)
    with engine.connect() as connection:
        config = configuration()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        yield connections.driver_connection(connection)
    engine.dispose()


def test_what_was_derived_within_the_database_is_derived_again(path: Path) -> None:
    """Counts and keys are made of the log anew; the audit of a lift comes along."""
    with at_revision(path, "0002") as driver:
        lifted = lifts.entry(LIFT)
        audit_of_lift = orjson.dumps(
            ["ann", lifts.AUDIT_KIND, str(entity_id(1)), [{"policy": "p"}], "r-1"]
        )
        before = attrs.evolve(lifted, index=b"%b,%b]" % (lifted.index[:-1], audit_of_lift))
        rows = [[entry(1, idempotency=KEY), entry(2)], [entry(3)], [before]]
        seq = 1
        for row in rows:
            index = log.pack([each.index for each in row], b",")
            body = log.pack([each.lines for each in row], b"\n")
            values = (seq, TENANT.bytes, len(row), row[-1].received_at_ns, index, body)
            driver.execute("INSERT INTO decision_log VALUES (?, ?, ?, ?, ?, ?)", values)
            seq += len(row)
        driver.execute("UPDATE store_meta SET value = 2 WHERE name = 'indexed_seq'")

    url = f"sqlite:///{path}"
    migrate(url)
    store = SqliteStore(url)
    try:
        store.index_now()
        with store.read() as connection:
            assert log.last_seq(connection) == 4
            assert results.of_policy(connection, TENANT).total == 3
            found = idempotency.find(connection, KEY[0], START_NS)
            assert found == idempotency.UsedKey(KEY[1], 1)
            page = decisions.search(connection, TENANT, decisions.DecisionQuery(), 9)
            assert [each.seq for each in page.decisions] == [3, 2, 1]
            assert decisions.find(connection, TENANT, decision_id(2, START_NS + 2)).seq == 2
            assert [line.is_decision for line in log.scan(connection)] == [True, True, True, False]
            (audited,) = audit.page(connection, TENANT, 9)
        assert audited == lifted.audit
    finally:
        store.close()


def test_the_draft_of_a_job_leaves_its_request(path: Path) -> None:
    """A job of an earlier version has the same draft, and a request without it."""
    job_id = decision_id(1)
    request = {"since_ns": 1, "draft": b64encode(b"packed").decode()}
    with at_revision(path, "0014") as driver:
        driver.execute(
            "INSERT INTO tenants VALUES (?, 'a', 'a', '{}', 1, 1, 1, 1, 0, 0)", [TENANT.bytes]
        )
        driver.execute(
            "INSERT INTO replay_jobs (job_id, tenant_id, status, request, progress, actor,"
            " revision, created_at_ns, updated_at_ns) VALUES (?, ?, 'done', ?, 0, 'ann', 1, 1, 1)",
            [job_id.bytes, TENANT.bytes, orjson.dumps(request).decode()],
        )
    url = f"sqlite:///{path}"
    migrate(url)
    store = SqliteStore(url)
    try:
        with store.read() as connection:
            assert replay_jobs.draft_of(connection, TENANT, job_id) == b"packed"
            assert replay_jobs.find(connection, TENANT, job_id).request == {"since_ns": 1}
    finally:
        store.close()
