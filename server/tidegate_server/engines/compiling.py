"""Compile a tenant's definitions for its engine, in a worker that returns bytes.

The native engine is built from a bundle; the rest of the service needs only names and settings from
the definitions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from tidegate.policy.document import read_document
from tidegate_server.engines import kept_sets
from tidegate_server.engines.compiled import CompiledChange, CompiledSet
from tidegate_server.engines.definition_set import load_set
from tidegate_server.logging import log
from tidegate_server.stores.base import DamagedLogError, StoreUnavailableError
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.index import compiled_sets
from tidegate_server.stores.objects import definition_sets

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.engines.app import App
    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.stores.index.compiled_sets import Place
    from tidegate_server.stores.port import Records

SAMPLE = 1024
"""How many log entries of all tenants train an engine's index."""


def compile_newest(
    tenant_id: UUID, base: int | None, application: App
) -> CompiledSet | CompiledChange:
    """Compile a tenant's present definitions, and store them under their revision.

    They are stored before they decide, so that their decisions can be explained later.

    Args:
        tenant_id: the tenant.
        base: the revision of its engine's definitions, if a change of them is enough.
        application: the parts of the service.

    Raises:
        DefinitionsError: they can't be used.
        NotFoundError: the tenant doesn't exist.
        StoreUnavailableError: nothing can be written now.
    """
    with application.store.read() as connection:
        newest = load_set(connection, tenant_id, application.known.newest(tenant_id))
    compilation = read_document(newest.to_read(), newest.compilation)
    before = None if base is None else application.known.find(tenant_id, base)
    application.known.compiled(tenant_id, newest.activate(compilation))
    keep_definitions(application.store, tenant_id, newest.document())
    changed = CompiledChange.of(before, compilation.compiled)
    if changed is not None:
        return changed
    with application.store.read() as connection:
        made = CompiledSet.of(compilation.compiled, recent_events(connection, tenant_id))
    try:
        kept_sets.keep(application.store, _place_of(newest), made)
    except StoreUnavailableError as error:  # the next start compiles them from text again
        log.warning("compiled definitions are not kept", tenant=str(tenant_id), reason=str(error))
    return made


def keep_newest(tenant_id: UUID, application: App) -> None:
    """Keep a tenant's compiled definitions for the next starts, if they are quick to compile here.

    After a change of one policy among many the whole set isn't written at once, but when changes
    pause.

    Raises:
        DefinitionsError: they can't be used.
        NotFoundError: the tenant doesn't exist.
        StoreUnavailableError: nothing can be written now.
    """
    active = application.known.newest(tenant_id)
    if active is None:
        return
    with application.store.read() as connection:
        newest = load_set(connection, tenant_id, active)
        is_kept = compiled_sets.is_kept(connection, _place_of(newest))
    if active.covers(newest.objects) and not is_kept:
        compilation = read_document(newest.to_read(), newest.compilation)
        kept_sets.keep(application.store, _place_of(newest), CompiledSet.of(compilation.compiled))


def _place_of(newest: DefinitionSet) -> Place:
    return kept_sets.place_of(newest.tenant_id, (newest.revision, newest.tenant.revision))


def keep_definitions(store: Records, tenant_id: UUID, document: Mapping[str, Any]) -> None:
    """Keep a document permanently as the definitions of its revision.

    Raises:
        StoreUnavailableError: nothing can be written now.
    """
    content, revision = orjson.dumps(document), document["revision"]
    with store.read() as connection:
        made = definition_sets.prepare(connection, tenant_id, revision, content, time.time_ns())
    if made is not None:
        store.write(partial(definition_sets.add, definition_set=made)).result()


def recent_events(connection: Connection, tenant_id: UUID) -> list[bytes]:
    """Return a tenant's last decided events, as recorded; empty if the log is damaged."""
    return recent_by_tenant(connection, tenant_id).get(tenant_id, [])


def recent_by_tenant(
    connection: Connection, tenant_id: UUID | None = None
) -> dict[UUID, list[bytes]]:
    """Return the last decided events of each tenant, or of one, as :func:`recent_events`."""
    after = max(decision_log.last_seq(connection) - SAMPLE, 0)
    found: dict[UUID, list[bytes]] = {}
    try:
        for line in decision_log.scan(connection, after=after, tenant_id=tenant_id):
            if line.is_decision:
                found.setdefault(line.tenant_id, []).append(line.decision().event)
    except DamagedLogError:
        return {}
    return found
