"""A tenant's definitions made ready for its engine: in a worker, which sends bytes.

The native engine is built from a bundle; the rest of the service needs no more of the definitions
than names and settings.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson

from tidegate.policy.definitions.bundle import bundle, change
from tidegate.policy.definitions.key_forms import KeyForms
from tidegate.policy.document import read_document
from tidegate.server.engines.definition_set import load_set
from tidegate.stores.base import DamagedLogError
from tidegate.stores.decision_log import log as decision_log
from tidegate.stores.objects import definition_sets

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.model import Definitions, Settings
    from tidegate.server.routing.context import Application, Records

SAMPLE = 1024
"""Entries of the log from which an engine learns what to look for first, of all tenants."""

MOST_BYTES = 1024 * 1024
"""A change that takes more is no small one: its policies are better indexed with all others."""


@attrs.frozen
class Names:
    """The ids of a tenant's definitions by slug, as text."""

    policies: Mapping[str, str] = attrs.field(factory=dict)
    entities: Mapping[str, str] = attrs.field(factory=dict)
    mitigations: Mapping[str, str] = attrs.field(factory=dict)

    @classmethod
    def of(cls, definitions: Definitions) -> Names:
        """Those of a set."""
        return cls(
            {each.slug: each.policy_id for each in definitions.policies},
            {each.slug: each.entity_definition_id for each in definitions.entities},
            {each.slug: each.mitigation_id for each in definitions.mitigations},
        )


@attrs.frozen(kw_only=True)
class CompiledSet:
    """Definitions as a decision needs them."""

    revision: int
    content: bytes = attrs.field(repr=False)
    """What the native engine is built from."""
    settings: Settings
    names: Names = attrs.field(repr=False)
    keys: KeyForms = attrs.field(repr=False)
    sample: Sequence[bytes] = attrs.field(repr=False)
    """Recent events, from which the engine learns what to look for first."""

    @classmethod
    def of(cls, compiled: CompiledDefinitions, sample: Sequence[bytes] = ()) -> CompiledSet:
        """What a compilation made."""
        return cls(
            revision=compiled.revision,
            content=bundle(compiled),
            settings=compiled.source.settings,
            names=Names.of(compiled.source),
            keys=KeyForms.of(compiled),
            sample=sample,
        )


@attrs.frozen(kw_only=True)
class CompiledChange:
    """Policies in which definitions differ from others that an engine has."""

    revision: int
    content: bytes = attrs.field(repr=False)
    """What the engine goes on with."""
    names: Mapping[str, str] = attrs.field(repr=False)
    """The ids of policies that are new, by slug."""
    gone: Sequence[str]
    """The slugs of policies that are there no more."""

    @classmethod
    def of(cls, before: Definitions | None, compiled: CompiledDefinitions) -> CompiledChange | None:
        """What an engine by definitions lacks; None where it is to be made anew."""
        if before is None or before.compilation is None:
            return None
        content = change(before.compilation.compiled, compiled)
        if content is None or len(content) > MOST_BYTES:
            return None
        known, present = Names.of(before).policies, Names.of(compiled.source).policies
        return cls(
            revision=compiled.revision,
            content=content,
            names=dict(present.items() - known.items()),
            gone=list(known.keys() - present.keys()),
        )


def compile_newest(
    tenant_id: UUID, base: int | None, application: Application
) -> CompiledSet | CompiledChange:
    """A tenant's present definitions, compiled; they are kept as those of their revision.

    What they decide can be explained by them later: they are kept before they decide.

    Args:
        tenant_id: the tenant.
        base: revision of the definitions of its engine, where a change of them will do.
        application: the parts of the service.

    Raises:
        DefinitionsError: they cannot be used.
        NotFoundError: there is no such tenant.
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
    """Keep a document as the definitions of its revision, for good.

    Raises:
        StoreUnavailableError: nothing can be written now.
    """
    content, revision = orjson.dumps(document), document["revision"]
    with store.read() as connection:
        made = definition_sets.prepare(connection, tenant_id, revision, content, time.time_ns())
    if made is not None:
        store.write(partial(definition_sets.add, definition_set=made)).result()


def recent_events(connection: Connection, tenant_id: UUID) -> list[bytes]:
    """Events of a tenant that were decided on last, as recorded; none where the log is damaged."""
    after = max(decision_log.last_seq(connection) - SAMPLE, 0)
    lines = decision_log.scan(connection, after=after, tenant_id=tenant_id)
    try:
        return [line.decision().event for line in lines if line.is_decision]
    except DamagedLogError:
        return []
