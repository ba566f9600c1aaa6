"""Snapshots in parts: whole or not there, wherever their saving was broken off."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select
from tests.store_contract.examples import START_NS, TENANT, done, tenant

from tidegate_server.stores import retention
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import snapshots
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.rows.tables import snapshot_parts
from tidegate_server.stores.sqlite import SqliteStore

STATE = os.urandom(5 * snapshots.PART_BYTES // 2)
"""Nothing to compress: three parts."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with a tenant, and a snapshot of it."""
    url = f"sqlite:///{tmp_path}/data/tidegate.db"
    migrate(url)
    store = SqliteStore(url)
    done(store.write(lambda connection: tenants.create(connection, tenant())))
    save(store, taken(1))
    store.close()
    return url


@pytest.fixture
def store(url: str) -> Iterator[SqliteStore]:
    """The store of it."""
    store = SqliteStore(url)
    yield store
    store.close()


def taken(seq: int) -> snapshots.Snapshot:
    return snapshots.Snapshot(
        tenant_id=TENANT, seq=seq, revision=1, body=STATE, created_at_ns=START_NS
    )


def save(store: SqliteStore, snapshot: snapshots.Snapshot) -> None:
    """Save a snapshot as the service does: with a write for each part."""
    for step in snapshots.steps(snapshot):
        done(store.write(step))
    while done(store.write(lambda connection: snapshots.tidy(connection, TENANT, 1))):
        pass


def kept(store: SqliteStore) -> tuple[list[int], int]:
    """Numbers of the snapshots that are whole, and how many parts there are."""
    with store.read() as connection:
        found = list(snapshots.newest(connection, TENANT))
        assert all(each.body == STATE for each in found)
        count = connection.execute(select(func.count()).select_from(snapshot_parts)).scalar_one()
    return [each.seq for each in found], count


class InPieces:
    """A state that is handed over in pieces."""

    tenant_id, seq, revision, created_at_ns = TENANT, 9, 1, START_NS

    def write(self, take: Callable[[bytes], object]) -> None:
        for start in range(0, len(STATE), 1_000):
            take(STATE[start : start + 1_000])


def test_a_state_may_come_in_pieces(store: SqliteStore) -> None:
    """A state that arrives in pieces is kept as if it had arrived whole."""
    for step in snapshots.steps(InPieces()):
        done(store.write(step))
    assert kept(store) == ([9, 1], 6)


def test_a_snapshot_without_its_end_is_passed_over(store: SqliteStore) -> None:
    """A part that is missing isn't a shorter state."""
    save(store, taken(2))
    last = (snapshot_parts.c.seq == 2, snapshot_parts.c.part == 2)
    done(store.write(lambda connection: connection.execute(delete(snapshot_parts).where(*last))))
    assert kept(store) == ([1], 5)


def test_the_last_two_are_kept(store: SqliteStore) -> None:
    """Only the last two snapshots are kept."""
    for seq in (2, 3, 4):
        save(store, taken(seq))
    assert kept(store) == ([4, 3], 6)


def test_one_can_be_taken_again(store: SqliteStore) -> None:
    """A snapshot after the same decision takes the place of the other."""
    save(store, taken(1))
    assert kept(store) == ([1], 3)


def test_one_of_a_deleted_tenant_is_refused(store: SqliteStore) -> None:
    """A snapshot of a deleted tenant is refused, and its rows are removed in steps."""
    steps = snapshots.steps(taken(2))
    done(store.write(steps[0]))
    done(store.write(lambda connection: tenants.delete(connection, TENANT)))
    with pytest.raises(NotFoundError):
        done(store.write(steps[1]))
    while done(store.write(lambda connection: retention.forget(connection, TENANT))):
        pass
    assert kept(store) == ([], 0)


@pytest.mark.parametrize("commits", range(5))
def test_killed_inside_a_save_the_one_before_is_whole(url: str, commits: int) -> None:
    """After a kill inside a save the previous snapshot counts; the next removes the parts."""
    child = os.fork()
    if child == 0:
        store = SqliteStore(url)
        for step in snapshots.steps(taken(2))[:commits]:
            done(store.write(step))
        os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    store = SqliteStore(url)
    try:
        assert kept(store) == ([1], 3 + max(0, commits - 1))
        save(store, taken(3))
        assert kept(store) == ([3, 1], 6)
    finally:
        store.close()
