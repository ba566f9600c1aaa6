"""Engines of tenants at their start: definitions, state, and changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import orjson
import pytest
from sqlalchemy import update
from tests.store_contract.examples import TENANT, done, entry, tenant

from tidegate_server.engines.compiling import SAMPLE, recent_events
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.rows.tables import decision_log
from tidegate_server.stores.sqlite import SqliteStore

OTHER = UUID(int=2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with two tenants, the log nearly all of one."""
    url = f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}"
    migrate(url)
    made = SqliteStore(url)
    for each in (tenant(), tenant(OTHER, "Other")):
        done(made.write(lambda connection, each=each: tenants.create(connection, each)))
    entries = [entry(number, event={"request": {"path": f"/{number}"}}) for number in range(SAMPLE)]
    done(made.append([*entries, entry(SAMPLE, OTHER)]))
    yield made
    made.close()


def sampled(store: SqliteStore, tenant_id: UUID) -> list[str]:
    with store.read() as connection:
        events = recent_events(connection, tenant_id)
    return [orjson.loads(event)["request"]["path"] for event in events]


def test_an_engine_learns_from_the_newest_events_of_its_tenant(store: SqliteStore) -> None:
    """An engine learns from its tenant's events among the last entries of the log."""
    assert sampled(store, TENANT) == [f"/{number}" for number in range(1, SAMPLE)]
    assert len(sampled(store, OTHER)) == 1


def test_of_a_damaged_log_nothing_is_learned(store: SqliteStore) -> None:
    """An engine learns nothing from a damaged log, and decides all the same."""
    damage = update(decision_log).values(body=b"\x00" * 40)
    done(store.write(lambda connection: connection.execute(damage)))
    assert sampled(store, TENANT) == []
