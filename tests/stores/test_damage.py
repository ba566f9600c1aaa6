"""Damage to the log: found, reported, and skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import attrs
import pytest
from pysqlite3 import dbapi2
from tests.store_contract.examples import (
    OTHER_TENANT,
    START_NS,
    TENANT,
    decision_id,
    done,
    entry,
)

from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.damage.checks import Finding, check_rows
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import decisions, gaps, log
from tidegate_server.stores.directory.lock import claim
from tidegate_server.stores.directory.mark import Mark, Noted, mark_path, read_mark
from tidegate_server.stores.sqlite import SqliteStore

COUNT = 30
"""Rows, of two tenants alternately."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a log of one decision a row."""
    path = tmp_path / "data" / "tidegate.db"
    migrate(f"sqlite:///{path}")
    store = owned(path)
    for number in range(1, COUNT + 1):
        block = entry(number)
        tenant_id = OTHER_TENANT if number % 2 else TENANT
        done(store.append([attrs.evolve(block, tenant_id=tenant_id)]))
    store.close()
    return path


def owned(path: Path) -> SqliteStore:
    """The store of the owner."""
    return SqliteStore(f"sqlite:///{path}", lock=claim(path))


def change(path: Path, statement: str) -> None:
    """Change the database behind the store's back."""
    connection = dbapi2.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def found(path: Path, after: int = 0) -> list[Finding]:
    """The findings of a check."""
    links: dict[UUID, int] | None = {} if not after else None
    store = SqliteStore(f"sqlite:///{path}")
    try:
        with store.read() as connection:
            return list(check_rows(connection, after, log.last_seq(connection), links=links))
    finally:
        store.close()


@pytest.mark.parametrize("after", [0, 1, 7, COUNT])
def test_a_whole_log_has_no_findings(path: Path, after: int) -> None:
    """An intact log has no findings, wherever the check begins."""
    assert found(path, after) == []


@pytest.mark.parametrize(
    "values",
    [
        "received_at_ns = received_at_ns + 1",
        "tenant_id = x'00000000000000000000000000000001'",
        "last_id = zeroblob(16)",
        "body = (SELECT body FROM decision_log WHERE first_seq = 13)",
        "index_body = substr(index_body, 1, 20)",
        "previous_seq = 4",
    ],
)
def test_a_changed_row_is_found(path: Path, values: str) -> None:
    """Every column counts: the checksum is of the row and of its place."""
    change(path, f"UPDATE decision_log SET {values} WHERE first_seq = 11")
    damaged = [each for each in found(path) if each.reason == gaps.DAMAGED]
    assert [(each.first_seq, each.last_seq) for each in damaged] == [(11, 11)]
    assert found(path, after=11) == []


def test_rows_that_are_missing_are_found(path: Path) -> None:
    """Missing rows are found by their numbers, and their tenant by the next row."""
    change(path, "DELETE FROM decision_log WHERE first_seq BETWEEN 9 AND 12")
    assert found(path) == [
        Finding(9, 12, None, gaps.MISSING),
        Finding(11, 11, OTHER_TENANT, gaps.MISSING),
        Finding(12, 12, TENANT, gaps.MISSING),
    ]
    assert found(path, after=8) == [Finding(9, 12, None, gaps.MISSING)]
    assert found(path, after=12) == []


def test_a_missing_row_among_those_that_retention_thinned_is_found(path: Path) -> None:
    """Numbers are missing there rightly; a tenant's rows follow one another all the same."""
    change(path, "UPDATE store_meta SET value = 20 WHERE name = 'pruned_seq'")
    assert found(path) == []
    change(path, "DELETE FROM decision_log WHERE first_seq IN (2, 4, 10)")
    assert found(path) == [Finding(10, 10, TENANT, gaps.MISSING)]


def test_a_row_of_an_earlier_version_has_what_it_holds(path: Path) -> None:
    """A row without a checksum is checked by unpacking and counting its content."""
    change(path, "UPDATE decision_log SET checksum = NULL, previous_seq = NULL")
    assert found(path) == []
    change(path, "UPDATE decision_log SET count = 2 WHERE first_seq = 30")
    assert [each.reason for each in found(path)] == [gaps.DAMAGED]


def test_the_lost_end_of_a_log_is_known_by_the_mark(path: Path) -> None:
    """The numbers of a lost end are not given again, and the loss is remembered."""
    change(path, "DELETE FROM decision_log WHERE first_seq > 25")
    store = owned(path)
    try:
        assert store.lost is not None
        assert (store.lost.first_seq, store.lost.last_seq) == (26, COUNT)
        done(store.append([entry(99)]))
        store.index_now()
        with store.read() as connection:
            assert log.read(connection, COUNT + 1).decision()
            assert [line.seq for line in log.scan(connection, after=24)] == [25, COUNT + 1]
            assert gaps.total(connection) == 5
    finally:
        store.close()
    again = owned(path)
    assert again.lost is None
    again.close()


def test_a_lost_change_of_the_control_plane_is_known(path: Path) -> None:
    """Commits of anything but decisions are counted, too."""
    store = owned(path)
    done(store.write(lambda _: None))
    store.close()
    change(path, "UPDATE store_meta SET value = value - 1 WHERE name = 'changes'")
    store = owned(path)
    assert (store.lost, store.lost_changes) == (None, 1)
    store.close()


def test_a_torn_note_leaves_the_one_before_it(tmp_path: Path) -> None:
    """A torn note leaves the one before it, since two places are written alternately."""
    database = tmp_path / "tidegate.db"
    mark = Mark(database)
    mark.note(Noted(1, 1, 7))
    mark.note(Noted(2, 1, 7))
    mark.close()
    content = bytearray(mark_path(database).read_bytes())
    content[520] ^= 1
    mark_path(database).write_bytes(content)
    assert read_mark(database) == Noted(1, 1, 7)
    content[8] ^= 1
    mark_path(database).write_bytes(content)
    assert read_mark(database) is None


@pytest.fixture
def torn(path: Path) -> Iterator[SqliteStore]:
    """A store with a page of the log that cannot be read."""
    change(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18])
    name = decision_id(COUNT // 2, START_NS + COUNT // 2).bytes
    # A leaf of a table begins with 13; indexes know the id, too.
    starts = range(0, len(content), size)
    (start,) = (at for at in starts if content[at] == 13 and name in content[at : at + size])
    content[start : start + size] = bytes(size)
    path.write_bytes(content)
    store = SqliteStore(f"sqlite:///{path}")
    yield store
    store.close()


def test_a_search_goes_on_behind_a_damaged_page(torn: SqliteStore) -> None:
    """A search returns rows on both sides of a damaged page, and reports what it could not read."""
    with torn.read() as connection:
        page = decisions.search(connection, TENANT, decisions.DecisionQuery(), COUNT)
        assert page.passed_over
        lost = {
            seq for each in page.passed_over for seq in range(each.first_seq, each.last_seq + 1)
        }
        seen = [each.seq for each in page.decisions]
        assert seen == sorted(set(range(2, COUNT + 1, 2)) - lost, reverse=True)
        assert seen[0] == COUNT
        assert seen[-1] == 2


def test_a_scan_skips_a_damaged_page_and_reports_it(torn: SqliteStore) -> None:
    """A scan reports damage and continues; without a callback it ends there."""
    reported: list[DamagedLogError] = []
    with torn.read() as connection:
        seen = {line.seq for line in log.scan(connection, passed=reported.append)}
        lost = {seq for each in reported for seq in range(each.seq, each.last_seq + 1)}
        assert seen | lost == set(range(1, COUNT + 1))
        assert not seen & lost
        with pytest.raises(DamagedLogError):
            list(log.scan(connection))
        with pytest.raises(DamagedLogError):
            log.read(connection, min(lost))
        findings = list(check_rows(connection, 0, COUNT))
    assert {seq for each in findings for seq in range(each.first_seq, each.last_seq + 1)} == lost


def test_gaps_leave_the_rest_of_a_range() -> None:
    """Known gaps are cut out of a range."""
    known = [
        gaps.LogGap(first_seq=3, last_seq=4, tenant_id=None, reason="missing", found_at_ns=1),
        gaps.LogGap(first_seq=8, last_seq=20, tenant_id=None, reason="missing", found_at_ns=1),
    ]
    assert gaps.unknown_parts(known, 1, 10) == [(1, 2), (5, 7)]
    assert gaps.unknown_parts(known, 8, 20) == []
    assert gaps.covers(known, 9, 11)
    assert gaps.unknown_parts([], 5, 5) == [(5, 5)]
