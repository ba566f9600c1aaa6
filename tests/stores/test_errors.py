"""Errors of the drivers as errors of the port."""

from __future__ import annotations

from pysqlite3 import dbapi2
from sqlalchemy.exc import IntegrityError

from tidegate_server.stores.base import ConflictError, NotFoundError
from tidegate_server.stores.rows.errors import translate


def translated(statement: str) -> BaseException:
    """Return the port's error for a statement that breaks a constraint."""
    connection = dbapi2.connect(":memory:")
    connection.executescript(
        """PRAGMA foreign_keys=ON;
        CREATE TABLE parents (name TEXT PRIMARY KEY);
        CREATE TABLE children ("FOREIGN KEY" TEXT UNIQUE REFERENCES parents);
        INSERT INTO parents VALUES ('a');
        INSERT INTO children VALUES ('a');"""
    )
    try:
        connection.execute(statement)
    except dbapi2.IntegrityError as error:
        return translate(IntegrityError(statement, {}, error))
    raise AssertionError("it breaks no constraint")


def test_constraints_of_sqlite_are_told_apart() -> None:
    """An object that is missing isn't a conflict, whatever columns are called."""
    missing = translated("INSERT INTO children VALUES ('b')")
    assert isinstance(missing, NotFoundError)
    assert isinstance(translated("DELETE FROM parents"), NotFoundError)
    same = translated("INSERT INTO children VALUES ('a')")
    assert isinstance(same, ConflictError)
    assert str(same) == "another of `children` has the same `FOREIGN KEY`"
