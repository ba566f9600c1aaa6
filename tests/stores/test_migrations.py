"""Migrations: the tables they make, and what happens when one is interrupted."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from pysqlite3 import dbapi2
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Engine

from tidegate.stores import SchemaError, SqliteStore, connections, migrate, migrations
from tidegate.stores.tables import metadata


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database is to be made."""
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
    """What Alembic finds the migrations by."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


def test_migrations_make_the_tables_of_the_code(path: Path) -> None:
    """Nothing is declared that no migration makes, and the other way round."""
    migrate(f"sqlite:///{path}")
    declared = path.with_name("declared.db")
    engine = create_engine(f"sqlite:///{declared}", module=dbapi2)
    metadata.create_all(engine)
    engine.dispose()
    with dbapi2.connect(path) as made, dbapi2.connect(declared) as expected:
        assert shape(made) == shape(expected)
        assert len(shape(made)) == len(metadata.tables)


def test_the_newest_revision_is_the_one_the_code_expects() -> None:
    """A new migration moves both."""
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


def test_a_migration_that_is_killed_is_run_again(path: Path, tmp_path: Path) -> None:
    """Killed between its statements, it leaves nothing half done."""
    whole = whole_revisions(tmp_path / "whole.db")
    url = f"sqlite:///{path}"
    statement = 0
    while kill_at(url, statement):
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
        ("UPDATE schema_version SET version_num = '9999'", "9999.*knows"),
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
    """There is no way back; the older code says so and touches nothing."""
    url = f"sqlite:///{path}"
    migrate(url)
    connection = dbapi2.connect(path)
    with connection:
        connection.execute("UPDATE schema_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(SchemaError, match="newer"):
        migrate(url)
