"""The running service, from its start to its stop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import attrs
import pytest
from structlog.testing import capture_logs
from tests.server.workers.forking import crew_of
from tests.store_contract.examples import START_NS, TENANT, done, entry, tenant

from tidegate_server.operators.key_ring import ApiKey, make_key
from tidegate_server.operators.keys import load_keys
from tidegate_server.service import HOUSEKEEPING_SECONDS, Service
from tidegate_server.settings.operators import TokenSettings
from tidegate_server.settings.service import ServerSettings
from tidegate_server.settings.store import StoreSettings
from tidegate_server.settings.whole import Settings
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import snapshots
from tidegate_server.stores.index import deriving
from tidegate_server.stores.objects import api_keys, tenants
from tidegate_server.stores.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A store that indexes nothing by itself."""
    monkeypatch.setattr(deriving, "PAUSE_SECONDS", 3_600.0)
    url = f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}"
    migrate(url)
    made = SqliteStore(url)
    yield made
    made.close()


def kept_in(directory: Path) -> Settings:
    """Settings of a service whose workers find its store."""
    return Settings(store=StoreSettings(directory=str(directory / "data")))


def service_in(directory: Path, settings: Settings, store: SqliteStore) -> Service:
    """A service that is not started."""
    keys = load_keys(directory / "keys")
    base_url = "http://127.0.0.1"
    return Service(settings, store, keys, base_url, crew_of(settings, keys, base_url))


@pytest.fixture
def service(store: SqliteStore, tmp_path: Path, process: None) -> Service:
    """A service that is not started."""
    return service_in(tmp_path, kept_in(tmp_path), store)


def test_settings_reach_what_they_are_of(store: SqliteStore, tmp_path: Path, process: None) -> None:
    """A login gives tokens of the set lifetime, and limits are in the headers where that is set."""
    server, token = ServerSettings(rate_limit_header=True), TokenSettings(lifetime_seconds=60)
    settings = attrs.evolve(kept_in(tmp_path), server=server, token=token)
    service = service_in(tmp_path, settings, store)

    async def scene() -> None:
        assert (await service.start()).tells_limits
        await service.stop()

    asyncio.run(scene())
    assert service.application.token_lifetime_seconds == 60


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


def test_keys_that_are_read_at_the_same_time_are_put_in_place_in_order(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow look does not bring back a key that has ended since."""
    made = make_key(bytes(42), bytes(32))
    key = ApiKey(UUID(int=1), TENANT, made.prefix, 600, ((made.secret_hash, None),))
    found = [[key], []]
    is_overtaken = threading.Event()

    def read() -> list[ApiKey]:
        keys = found.pop(0)
        if keys:
            is_overtaken.wait(0.2)
        return keys

    async def overtake() -> None:
        await service._refresh_keys()
        is_overtaken.set()

    async def scene() -> None:
        monkeypatch.setattr(service, "_read_keys", read)
        await asyncio.gather(service._refresh_keys(), overtake())

    asyncio.run(scene())
    assert len(service.key_ring) == 0


def test_changes_are_followed_after_the_store_could_not_be_read(
    service: Service, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that another process ends is refused, though the store was away before."""
    made = make_key(bytes(42), bytes(32))
    keys = [ApiKey(UUID(int=1), TENANT, made.prefix, 600, ((made.secret_hash, None),))]
    has_failed = threading.Event()
    changed = store.changed

    def away() -> bool:
        if not has_failed.is_set():
            has_failed.set()
            raise StoreUnavailableError("the database was restarted")
        return changed()

    async def until(count: int) -> None:
        async with asyncio.timeout(60):
            while len(service.key_ring) != count:
                await asyncio.sleep(0.05)

    async def scene() -> None:
        await service.start()
        await until(1)
        monkeypatch.setattr(store, "changed", away)
        await asyncio.to_thread(has_failed.wait, 60)
        keys.clear()
        await until(0)
        await service.stop()

    monkeypatch.setattr(service, "_read_keys", lambda: list(keys))
    asyncio.run(scene())


def test_a_task_of_the_service_that_fails_is_written_down(service: Service) -> None:
    """The stop gathers it, and drops its error."""

    async def fail() -> None:
        raise OSError("no disk")

    async def scene() -> None:
        await service.start()
        service.watch(fail())
        await service.stop()

    with capture_logs() as lines:
        asyncio.run(scene())
    failed = [each for each in lines if each["event"] == "work in the background ended"]
    assert [str(each["exc_info"]) for each in failed] == ["no disk"]


def test_it_is_written_down_when_a_key_was_used(
    service: Service, store: SqliteStore, tmp_path: Path
) -> None:
    """The last use of a key is written soon after the call; its revision stays."""
    made = make_key(bytes(42), load_keys(tmp_path / "keys").pepper)
    key = api_keys.ApiKey(
        api_key_id=UUID(int=1),
        tenant_id=TENANT,
        name="Edge",
        trust_level="External",
        rate_limit_per_minute=600,
        prefix=made.prefix,
        secret_hash=made.secret_hash,
        created_at_ns=START_NS,
        updated_at_ns=START_NS,
    )
    done(store.write(lambda connection: tenants.create(connection, tenant())))
    done(store.write(lambda connection: api_keys.create(connection, key)))
    began = time.time_ns()

    async def scene() -> api_keys.ApiKey:
        hot = await service.start()
        headers = [
            (b"x-service-api-key", made.text.encode()),
            (b"content-type", b"application/json"),
        ]
        hot.admission.admit(headers)
        async with asyncio.timeout(60):
            while (found := read()).last_used_at_ns is None:
                await asyncio.sleep(HOUSEKEEPING_SECONDS)
        await service.stop()
        return found

    def read() -> api_keys.ApiKey:
        with store.read() as connection:
            return api_keys.find(connection, TENANT, key.api_key_id)

    found = asyncio.run(scene())
    assert found.last_used_at_ns is not None
    assert began <= found.last_used_at_ns <= time.time_ns()
    assert found.revision == 1


def test_a_key_above_the_bound_counts_up_to_it(
    store: SqliteStore, tmp_path: Path, process: None
) -> None:
    """A key made with a higher limit counts up to the present bound."""
    made = make_key(bytes(42), load_keys(tmp_path / "keys").pepper)
    key = api_keys.ApiKey(
        api_key_id=UUID(int=1),
        tenant_id=TENANT,
        name="Edge",
        trust_level="External",
        rate_limit_per_minute=100_000_000,
        prefix=made.prefix,
        secret_hash=made.secret_hash,
        created_at_ns=START_NS,
        updated_at_ns=START_NS,
    )
    done(store.write(lambda connection: tenants.create(connection, tenant())))
    done(store.write(lambda connection: api_keys.create(connection, key)))
    server = ServerSettings(max_api_key_rate_limit_per_minute=6_000)
    settings = attrs.evolve(kept_in(tmp_path), server=server)
    service = service_in(tmp_path, settings, store)

    async def scene() -> None:
        await service.start()
        found = service.key_ring.find(made.text.encode(), time.time_ns())
        assert found is not None
        assert found.rate_limit_per_minute == 6_000
        await service.stop()

    asyncio.run(scene())


def test_the_log_after_a_snapshot_does_not_grow_over_restarts(store: SqliteStore) -> None:
    """Rows that earlier processes wrote since a tenant's newest snapshot count towards the next."""
    other = UUID(int=77)

    def oldest() -> int:
        with store.read() as connection:
            return snapshots.oldest_newest_seq(connection, 0)

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
    """A failed start reports its reason, not a failure of the stop."""

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
