"""The tenants at work: each tenant's engine, redactor and names, swapped whole on a change.

Decisions are made on one thread, the event loop's, and so are the swaps.  Definitions are read
and compiled elsewhere; a set that does not compile leaves the one before it at work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import attrs
import orjson

from tidegate.engine import Engine
from tidegate.errors import DefinitionsError, SnapshotError
from tidegate.evaluation.native import Redactor
from tidegate.server.definition_set import load_set
from tidegate.server.logging import log
from tidegate.stores import definition_sets, snapshots, tenants
from tidegate.stores import log as decision_log
from tidegate.stores.base import DamagedLogError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.model import Definitions
    from tidegate.server.definition_set import AtWork, DefinitionSet
    from tidegate.stores.base import Store

Revision: TypeAlias = tuple[int, int]
"""How often a tenant's definitions changed, and its own revision: its settings count too."""

SAMPLE = 1024
"""Entries of the log from which an engine learns what to look for first, of all tenants."""


@attrs.frozen
class Tenant:
    """What a decision needs of a tenant."""

    tenant_id: UUID
    revision: int
    """Of the definitions."""
    read_at: Revision
    engine: Engine
    redactor: Redactor
    policy_ids: Mapping[str, str]
    """From slug to id, of every policy."""
    at_work: AtWork | None = None
    id_text: str = attrs.field(init=False)

    @id_text.default
    def _write_id(self) -> str:
        return str(self.tenant_id)


class Runtimes:
    """Every tenant at work.

    Args:
        store: where definitions, snapshots and the log are.
        redaction_key: what the hashes of redacted values are made with.
    """

    def __init__(self, store: Store, redaction_key: bytes) -> None:
        self._store = store
        self._redaction_key = redaction_key
        self._tenants: dict[UUID, Tenant] = {}
        self._changing = asyncio.Lock()
        self.refused: dict[UUID, tuple[Revision, str]] = {}
        """Tenants whose newest definitions do not compile: which, and why."""

    def find(self, tenant_id: UUID) -> Tenant | None:
        """The tenant at work, or None when there is none."""
        return self._tenants.get(tenant_id)

    def all(self) -> Iterable[Tenant]:
        """Every tenant at work."""
        return list(self._tenants.values())

    def load(self) -> None:
        """Bring every tenant to work from the store: definitions, newest snapshot, log after it.

        Not while decisions are made: their effects would be counted twice.
        """
        loaded = {}
        with self._store.read() as connection:
            for tenant_id, revision in tenants.definition_revisions(connection).items():
                tenant = self._load(connection, tenant_id, revision)
                if tenant is not None:
                    loaded[tenant_id] = tenant
        self._tenants = loaded

    async def rebuild(self) -> None:
        """Make every state anew, after decisions were lost."""
        async with self._changing:
            await asyncio.to_thread(self.load)

    async def refresh(self) -> None:
        """Take over definitions that have changed since they were read."""
        async with self._changing:
            revisions = await asyncio.to_thread(self._revisions)
            for tenant_id, revision in revisions.items():
                present = self._tenants.get(tenant_id)
                refused = self.refused.get(tenant_id)
                if present is not None and present.read_at == revision:
                    continue
                if refused is None or refused[0] != revision:
                    await self._replace(tenant_id, revision, present)
            for tenant_id in self._tenants.keys() - revisions.keys():
                del self._tenants[tenant_id]

    async def _replace(self, tenant_id: UUID, revision: Revision, present: Tenant | None) -> None:
        """Put a tenant's newest definitions to work, with the state that it has."""
        found = await asyncio.to_thread(self._renewed, tenant_id, revision, present)
        if found is not None:
            self._tenants[tenant_id] = found

    def _renewed(
        self, tenant_id: UUID, revision: Revision, present: Tenant | None
    ) -> Tenant | None:
        with self._store.read() as connection:
            newest = load_set(connection, tenant_id, None if present is None else present.at_work)
            sample = recent_events(connection, tenant_id)
        make = self._engine if present is None else present.engine.with_definitions
        return self._tenant(newest, revision, lambda: make(newest.to_read(), sample=sample))

    def _engine(
        self, definitions: Definitions | Mapping[str, Any], *, sample: Sequence[bytes]
    ) -> Engine:
        return Engine(definitions, sample=sample, redaction_key=self._redaction_key)

    def _revisions(self) -> dict[UUID, Revision]:
        with self._store.read() as connection:
            return tenants.definition_revisions(connection)

    def _load(self, connection: Connection, tenant_id: UUID, revision: Revision) -> Tenant | None:
        newest = load_set(connection, tenant_id)
        document = newest.document()
        return self._tenant(
            newest, revision, lambda: rebuilt(connection, tenant_id, document, self._redaction_key)
        )

    def _tenant(
        self, newest: DefinitionSet, revision: Revision, make: Callable[[], Engine]
    ) -> Tenant | None:
        """A tenant by an engine that is made now; None when its definitions cannot be used.

        The definitions are kept first: what they decide can be explained by them later.
        """
        tenant_id = newest.tenant_id
        try:
            engine = make()
        except DefinitionsError as error:
            log.error("definitions do not compile", tenant=str(tenant_id), error=str(error))
            self.refused[tenant_id] = (revision, str(error))
            return None
        self.refused.pop(tenant_id, None)
        keep_definitions(self._store, tenant_id, newest.document())
        made = engine.definitions
        return Tenant(
            tenant_id,
            made.revision,
            revision,
            engine,
            redactor_of(engine),
            {policy.slug: str(policy.policy_id) for policy in made.policies},
            None if made.compilation is None else newest.put_to_work(made.compilation),
        )


def keep_definitions(store: Store, tenant_id: UUID, document: Mapping[str, Any]) -> None:
    """Keep a document as the definitions of its revision, for good.

    Raises:
        StoreUnavailableError: nothing can be written now.
    """
    content, revision = orjson.dumps(document), document["revision"]
    with store.read() as connection:
        made = definition_sets.prepare(connection, tenant_id, revision, content, time.time_ns())
    if made is not None:
        store.write(lambda connection: definition_sets.add(connection, made)).result()


def redactor_of(engine: Engine) -> Redactor:
    """What makes what is kept of the events of an engine of the service."""
    assert isinstance(engine.redactor, Redactor)
    return engine.redactor


def rebuilt(
    connection: Connection,
    tenant_id: UUID,
    document: Mapping[str, Any],
    redaction_key: bytes | None = None,
) -> Engine:
    """An engine in the state after the last decision in the log."""
    sample = recent_events(connection, tenant_id)
    for snapshot in snapshots.newest(connection, tenant_id):
        try:
            engine = Engine.restore(
                document, snapshot.body, sample=sample, redaction_key=redaction_key
            )
        except SnapshotError as error:
            log.warning("a snapshot is of no use", tenant=str(tenant_id), error=str(error))
            continue
        engine.apply_effects(_effects(connection, tenant_id, snapshot.seq))
        return engine
    engine = Engine(document, sample=sample, redaction_key=redaction_key)
    engine.apply_effects(_effects(connection, tenant_id, 0))
    return engine


def recent_events(connection: Connection, tenant_id: UUID) -> list[bytes]:
    """Events of a tenant that were decided on last, as recorded; none where the log is damaged."""
    after = max(decision_log.last_seq(connection) - SAMPLE, 0)
    lines = decision_log.scan(connection, after=after, tenant_id=tenant_id)
    try:
        return [line.decision().event for line in lines if line.is_decision]
    except DamagedLogError:
        return []


def _effects(connection: Connection, tenant_id: UUID, after: int) -> Iterator[bytes]:
    """What each decision after a number did to the state, in order."""
    for line in decision_log.scan(connection, after=after, tenant_id=tenant_id):
        yield line.effects()
