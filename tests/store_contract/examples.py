"""Building blocks for the tests of a store: decisions, places, a way to hold up the writer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, TypeAlias
from uuid import UUID, uuid5

import orjson
import pytest
from sqlalchemy import Connection, insert, select

from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import lines
from tidegate_server.stores.decision_log.lines import LogBlock
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.port import Store
from tidegate_server.stores.rows.tables import revoked_tokens

OpenStore: TypeAlias = Callable[[str], Store]

TENANT = UUID("018f0000-0000-7000-8000-00000000000a")
OTHER_TENANT = UUID("018f0000-0000-7000-8000-00000000000b")
POLICY = UUID("018f0000-0000-7000-8000-0000000000aa")
API_KEY = UUID("018f0000-0000-7000-8000-0000000000cc")
START_NS = 1_760_000_040_000_000_000
"""A full minute in October 2025."""
LATER_NS = START_NS + 1_000
SECOND_NS = 1_000_000_000
WAIT_SECONDS = 30
"""Seconds to wait for something that is normally immediate; only a fault takes this long."""


def numbered(number: int) -> UUID:
    """An id; greater numbers come later."""
    return UUID(int=POLICY.int + 0x1000 + number)


def decision_id(number: int, received_at_ns: int = START_NS) -> UUID:
    """A UUID of version 7, by time and then by number."""
    return UUID(int=(received_at_ns // 1_000_000) << 80 | 7 << 76 | 2 << 62 | number)


def entry(
    number: int,
    tenant_id: UUID = TENANT,
    *,
    received_at_ns: int | None = None,
    observed_at_ns: int | None = None,
    action: str = "allow",
    reason: str = "no-match",
    policy_id: UUID | None = None,
    path: str | None = "/login",
    api_key_id: UUID | None = API_KEY,
    entity_ids: tuple[UUID, ...] = (),
    fired: tuple[tuple[UUID, str], ...] = (),
    errors: tuple[str, ...] = (),
    idempotency: tuple[bytes, bytes] | None = None,
    event: dict[str, Any] | None = None,
    effects: bytes = b"[]",
) -> LogBlock:
    """A decision for the log; ``number`` is in its id, its answer and its default time."""
    received = START_NS + number if received_at_ns is None else received_at_ns
    made = decision_id(number, received)
    name = str(made)
    key = None if api_key_id is None else str(api_key_id)
    return LogBlock.of_one(
        tenant_id=tenant_id,
        decision_id=made,
        received_at_ns=received,
        line=lines.encode_line(
            decision_id=name,
            received_at_ns=received,
            api_key_id=key,
            source=b'"edge"',
            endpoint="beacon",
            idempotency=idempotency,
            revision=1,
            duration_us=12,
            answer=b'{"number":%d}' % number,
            record=orjson.dumps({"action": {"type": action}, "reason": reason}),
            effects=effects,
            event=orjson.dumps({"request": {"path": path}} if event is None else event),
        ),
        index=lines.encode_index(
            tenant_id=str(tenant_id),
            decision_id=name,
            received_at_ns=received,
            api_key_id=key,
            idempotency=idempotency,
            observed_at_ns=received if observed_at_ns is None else observed_at_ns,
            action=action,
            reason=reason,
            policy_id=None if policy_id is None else str(policy_id),
            path=path,
            entity_ids=[str(entity) for entity in entity_ids],
            fired=[(str(policy), mode) for policy, mode in fired],
            errors=errors,
        ),
    )


def entity_id(number: int) -> UUID:
    """The id of an entity."""
    return uuid5(TENANT, f"entity {number}")


def put(connection: Connection, name: str) -> None:
    """Write something small."""
    connection.execute(
        insert(revoked_tokens).values(token_id=name, expires_at_ns=1, revoked_at_ns=1)
    )


def names(connection: Connection) -> list[str]:
    """The names that :func:`put` wrote."""
    query = select(revoked_tokens.c.token_id).order_by(revoked_tokens.c.token_id)
    return list(connection.execute(query).scalars())


def done(future: Future[Any]) -> Any:
    """The result of a future that should have one soon."""
    return future.result(WAIT_SECONDS)


class Held:
    """Keeps the writing thread busy, so that work queued meanwhile is one group."""

    def __init__(self, store: Store) -> None:
        self._started = threading.Event()
        self._release = threading.Event()
        self._future = store.write(self._wait)

    def _wait(self, _connection: Connection) -> None:
        self._started.set()
        assert self._release.wait(WAIT_SECONDS)

    def __enter__(self) -> None:
        assert self._started.wait(WAIT_SECONDS)

    def __exit__(self, *_: object) -> None:
        self._release.set()
        done(self._future)


def tenant(tenant_id: UUID = TENANT, name: str = "Shop") -> tenants.Tenant:
    """A tenant."""
    return tenants.Tenant(
        tenant_id=tenant_id,
        name=name,
        slug=name.lower(),
        settings={"retention_days": 30},
        created_at_ns=START_NS,
        updated_at_ns=START_NS,
    )


class StorePlaces:
    """The fixtures of a contract."""

    @pytest.fixture
    def url(self) -> str:
        """The place of a new empty store."""
        raise NotImplementedError("a contract is given its `url` by the class that inherits it")

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Opens a store that was migrated."""
        raise NotImplementedError("a contract is given `open_store` by the class that inherits it")

    @pytest.fixture
    def store(self, url: str, open_store: OpenStore) -> Iterator[Store]:
        """A new store."""
        migrate(url)
        store = open_store(url)
        yield store
        store.close()

    @pytest.fixture
    def shop(self, store: Store) -> Store:
        """A new store with the tenants ``TENANT`` and ``OTHER_TENANT``."""
        done(store.write(lambda connection: tenants.create(connection, tenant())))
        other = tenant(OTHER_TENANT, "Bank")
        done(store.write(lambda connection: tenants.create(connection, other)))
        return store
