"""The report of a start about a log with losses: in the log, in the audit, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pysqlite3 import dbapi2
from structlog.testing import capture_logs
from tests.store_contract.examples import OTHER_TENANT, TENANT, done, entry, tenant

from tidegate_server.directory.log_check import check_log
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.directory.lock import claim
from tidegate_server.stores.objects import audit, tenants
from tidegate_server.stores.sqlite import SqliteStore

COUNT = 12


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with two tenants and a log, one decision a row."""
    path = tmp_path / "data" / "tidegate.db"
    migrate(f"sqlite:///{path}")
    store = owned(path)
    for made in (tenant(), tenant(OTHER_TENANT, "Other")):
        done(store.write(lambda connection, made=made: tenants.create(connection, made)))
    for number in range(1, COUNT + 1):
        done(store.append([entry(number)]))
    store.close()
    return path


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[[str], SqliteStore]]:
    """Opens the store after a change behind its back."""
    stores: list[SqliteStore] = []

    def change(statement: str) -> SqliteStore:
        connection = dbapi2.connect(path)
        with connection:
            connection.execute(statement)
        connection.close()
        stores.append(owned(path))
        return stores[-1]

    yield change
    for store in stores:
        store.close()


def owned(path: Path) -> SqliteStore:
    return SqliteStore(f"sqlite:///{path}", lock=claim(path))


def audited(store: SqliteStore) -> list[list[Any]]:
    """The audit of each tenant."""
    with store.read() as connection:
        return [
            [each.after for each in audit.page(connection, tenant_id, 9)]
            for tenant_id in (TENANT, OTHER_TENANT)
        ]


@pytest.mark.parametrize(
    ("statement", "first", "last", "reason", "concerns"),
    [
        ("DELETE FROM decision_log WHERE first_seq > 9", 10, 12, "missing", (1, 1)),
        ("DELETE FROM decision_log WHERE first_seq IN (5, 6)", 5, 6, "missing", (1, 1)),
        ("UPDATE decision_log SET body = x'' WHERE first_seq = 7", 7, 7, "damaged", (1, 0)),
    ],
)
def test_a_loss_is_reported_once(
    opened: Callable[[str], SqliteStore],
    statement: str,
    first: int,
    last: int,
    reason: str,
    concerns: tuple[int, int],
) -> None:
    """A loss gives one error line, and an audit entry for its tenant where that is known."""
    store = opened(statement)
    with capture_logs() as lines:
        assert check_log(store) == last - first + 1
    (line,) = [each for each in lines if each["log_level"] == "error"]
    assert (line["first"], line["last"], line["reason"]) == (first, last, reason)
    entries = audited(store)
    assert tuple(map(len, entries)) == concerns
    assert entries[0][0]["first_seq"] == first
    assert entries[0][0]["last_seq"] == last
    store.index_now()
    store.close()
    again = opened("SELECT 1")
    with capture_logs() as lines:
        assert check_log(again) == last - first + 1
    assert not [each for each in lines if each["log_level"] == "error"]
    assert tuple(map(len, audited(again))) == concerns


def test_a_whole_log_is_nothing_to_tell(opened: Callable[[str], SqliteStore]) -> None:
    """An intact log gives no error line and no audit entry."""
    store = opened("SELECT 1")
    with capture_logs() as lines:
        assert check_log(store) == 0
    assert not lines
    assert audited(store) == [[], []]
