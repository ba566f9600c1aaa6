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
from tidegate_server.engines.compiled import CompiledChange, CompiledSet
from tidegate_server.engines.definition_set import load_set
from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.objects import definition_sets

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.engines.app import App
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
        return CompiledSet.of(compilation.compiled, recent_events(connection, tenant_id))


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
    after = max(decision_log.last_seq(connection) - SAMPLE, 0)
    lines = decision_log.scan(connection, after=after, tenant_id=tenant_id)
    try:
        return [line.decision().event for line in lines if line.is_decision]
    except DamagedLogError:
        return []
