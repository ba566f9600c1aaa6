"""The deletion of what is too old, during traffic."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import attrs
import pytest
from sqlalchemy import select
from tests.store_contract.examples import (
    OTHER_TENANT,
    START_NS,
    TENANT,
    done,
    entry,
    tenant,
)

from tidegate_server.engines.compiling import keep_definitions
from tidegate_server.engines.retention import DAY_NS, STEP_DECISIONS, Retention
from tidegate_server.stores import retention
from tidegate_server.stores.base import NotFoundError, StoreUnavailableError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import log, snapshots
from tidegate_server.stores.objects import definition_sets, kept_answers, tenants
from tidegate_server.stores.objects.kept_answers import KEPT_NS, KeptAnswer
from tidegate_server.stores.rows.tables import kept_answers as table
from tidegate_server.stores.sqlite import SqliteStore

NOW = START_NS + 31 * DAY_NS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with a tenant that keeps decisions for 30 days."""
    url = f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}"
    migrate(url)
    made = SqliteStore(url)
    done(made.write(lambda connection: tenants.create(connection, tenant())))
    yield made
    made.close()


class States:
    """Takes snapshots as the service does."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.saved = 0

    async def save(self) -> None:
        self.saved += 1
        snapshot = snapshots.Snapshot(
            tenant_id=TENANT,
            seq=self._store.statistics().committed_seq + self.saved - 1,
            revision=1,
            body=b"{}",
            created_at_ns=NOW,
        )
        done(self._store.write(lambda connection: snapshots.save(connection, snapshot)))


def passes(store: SqliteStore, states: States, count: int = 1) -> None:
    """Look for old data a number of times."""

    async def scene() -> None:
        kept = Retention(store, states.save, lambda: NOW)
        for _ in range(count):
            await kept.one_pass()

    asyncio.run(scene())


def seqs(store: SqliteStore) -> list[int]:
    with store.read() as connection:
        return [each.seq for each in log.scan(connection)]


def test_old_decisions_go_behind_a_snapshot(store: SqliteStore) -> None:
    """A snapshot is taken where there isn't one that holds what goes; young decisions stay."""
    done(store.append([entry(number) for number in range(3)]))
    done(store.append([entry(9, received_at_ns=NOW)]))
    store.index_now()
    states = States(store)
    passes(store, states)
    assert (states.saved, seqs(store)) == (1, [4])
    passes(store, states, 3)
    assert (states.saved, seqs(store)) == (1, [4])


def test_kept_answers_go_after_a_day_and_with_their_tenant(store: SqliteStore) -> None:
    """Only the young answer of an existing tenant is left."""

    def keep(number: int, tenant_id: UUID, at_ns: int) -> None:
        name = bytes([number] * 32)
        answer = KeptAnswer(
            name=name,
            operator_id=TENANT,
            tenant_id=tenant_id,
            at_ns=at_ns,
            size=1,
            fingerprint=name,
            sealed=b"s",
        )
        done(store.write(lambda connection: kept_answers.keep(connection, answer)))

    for number in range(1, 31):
        keep(number, TENANT, NOW - KEPT_NS)
    keep(31, OTHER_TENANT, NOW)
    keep(32, TENANT, NOW)
    passes(store, States(store))
    with store.read() as connection:
        assert connection.execute(select(table.c.name)).scalars().all() == [bytes([32] * 32)]


def test_nothing_is_deleted_that_a_start_could_need(store: SqliteStore) -> None:
    """While no snapshot can be taken, everything stays."""

    async def fails() -> None:
        raise StoreUnavailableError("the disk is full")

    done(store.append([entry(number) for number in range(3)]))
    store.index_now()
    with pytest.raises(StoreUnavailableError):
        asyncio.run(Retention(store, fails, lambda: NOW).one_pass())
    assert seqs(store) == [1, 2, 3]


def test_many_decisions_go_in_small_steps(store: SqliteStore) -> None:
    """Other writes have their turn between the steps."""
    count = 3 * STEP_DECISIONS
    for start in range(0, count, 500):
        done(store.append([entry(number) for number in range(start, start + 500)]))
    store.index_now()
    before = store.statistics().committed_writes
    passes(store, States(store))
    assert seqs(store) == []
    assert store.statistics().committed_writes - before > 3


def test_definitions_go_that_no_decision_was_made_by(store: SqliteStore) -> None:
    """Definitions older than the oldest kept decision's are deleted; later ones stay."""
    for revision in (1, 2, 3):
        keep_definitions(store, TENANT, {"revision": revision, "salt": secrets.token_hex(500)})
    old = entry(1)
    young = entry(2, received_at_ns=NOW)
    line = young.lines.replace(b'"revision":1', b'"revision":2')
    done(store.append([old]))
    done(store.append([attrs.evolve(young, lines=line)]))
    store.index_now()
    passes(store, States(store))
    with store.read() as connection:
        assert definition_sets.load(connection, TENANT, 2)
        assert definition_sets.load(connection, TENANT, 3)
        with pytest.raises(NotFoundError):
            definition_sets.load(connection, TENANT, 1)


def test_a_deleted_tenant_is_forgotten(store: SqliteStore) -> None:
    """The decisions of a deleted tenant are deleted whatever their age."""
    done(store.append([entry(1, OTHER_TENANT, received_at_ns=NOW)]))
    store.index_now()
    with store.read() as connection:
        assert retention.orphans(connection) == [OTHER_TENANT]
    passes(store, States(store))
    assert seqs(store) == []
    with store.read() as connection:
        assert retention.orphans(connection) == []
