"""The running service, from its start to its stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tidegate.config import Settings
from tidegate.operators.keys import load_keys
from tidegate.server.service import Service
from tidegate.stores import (
    SqliteStore,
    StoreUnavailableError,
    deriving,
    migrate,
    snapshots,
    tenants,
)
from tidegate.testing.store_examples import START_NS, TENANT, done, entry, tenant


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A store that indexes nothing by itself."""
    monkeypatch.setattr(deriving, "PAUSE_SECONDS", 3_600.0)
    url = f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}"
    migrate(url)
    made = SqliteStore(url)
    yield made
    made.close()


@pytest.fixture
def service(store: SqliteStore, tmp_path: Path) -> Service:
    """A service that is not started."""
    return Service(Settings(), store, load_keys(tmp_path / "keys"), "http://127.0.0.1")


def test_a_key_of_the_last_process_is_known_from_the_first_request_on(
    service: Service, store: SqliteStore
) -> None:
    """A decision that was logged and not indexed is not made again for its idempotency key."""
    key = bytes(16)
    used = entry(1, received_at_ns=time.time_ns(), idempotency=(key, bytes(16)))
    done(store.append([used]))

    async def scene() -> None:
        hot = await service.start()
        found = await hot.idempotency.find(key)
        assert found is not None
        assert found.answer == b'{"number":1}'
        await service.stop()

    asyncio.run(scene())


def test_the_log_after_a_snapshot_does_not_grow_over_restarts(store: SqliteStore) -> None:
    """What earlier processes wrote since a tenant's newest snapshot counts towards the next one."""
    other = UUID(int=77)

    def oldest() -> int:
        with store.read() as connection:
            return snapshots.oldest_newest_seq(connection)

    def save(tenant_id: UUID, seq: int) -> None:
        taken = snapshots.Snapshot(
            tenant_id=tenant_id, seq=seq, revision=1, body=b"state", created_at_ns=START_NS
        )
        done(store.write(lambda connection: snapshots.save(connection, taken)))

    assert oldest() == 0
    done(store.write(lambda connection: tenants.create(connection, tenant())))
    save(TENANT, 5)
    save(TENANT, 9)
    assert oldest() == 9
    done(store.write(lambda connection: tenants.create(connection, tenant(other, "Other"))))
    assert oldest() == 0
    save(other, 7)
    assert oldest() == 7


def test_a_service_that_cannot_start_says_why(
    service: Service, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end does not stand in front of the reason."""

    def fail() -> None:
        raise StoreUnavailableError("database or disk is full")

    monkeypatch.setattr(store, "index_now", fail)

    async def scene() -> None:
        try:
            await service.start()
        finally:
            await service.stop()

    with pytest.raises(StoreUnavailableError, match="full"):
        asyncio.run(scene())
