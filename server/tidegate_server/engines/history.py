"""Rebuild the past: the definitions that decided, and the state they decided on.

The state of a decision's entities is folded from the effects of earlier decisions, as far as the
log goes back, or from a snapshot in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import msgspec
import orjson

from tidegate.errors import EffectsError, SnapshotError
from tidegate.policy.definitions.keys import part_of
from tidegate.policy.document import read_document
from tidegate.wire_values import from_wire
from tidegate_server.engines.serving import TenantEngine
from tidegate_server.stores.base import DamagedLogError, NotFoundError
from tidegate_server.stores.decision_log import decisions, log, snapshots
from tidegate_server.stores.objects import definition_sets

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.definitions.keys import Part
    from tidegate.policy.definitions.model import Definitions
    from tidegate_server.engines.compile_cache import CompileCache
    from tidegate_server.stores.decision_log.decisions import FoundDecision
    from tidegate_server.stores.decision_log.lines import LoggedDecision

MAX_FOLDED = 20_000
"""The most earlier decisions that one state is rebuilt from.

This is a few seconds' work, and twice as many as the largest window holds.
"""
MAX_EXAMINED = 2_000_000
"""The most decisions of the tenant that are searched for them, which takes about as long."""


@attrs.frozen
class Names:
    """The ids of a definition set by slug; None for unknown slugs."""

    _policies: Mapping[str, UUID]
    _entities: Mapping[str, UUID]
    _mitigations: Mapping[str, UUID]

    def policy(self, slug: str | None) -> UUID | None:
        return self._policies.get(slug or "")

    def entity(self, slug: str | None) -> UUID | None:
        return self._entities.get(slug or "")

    def mitigation(self, slug: str | None) -> UUID | None:
        return self._mitigations.get(slug or "")


class _Policy(msgspec.Struct):
    slug: str
    policy_id: UUID


class _Entity(msgspec.Struct):
    slug: str
    entity_definition_id: UUID


class _Mitigation(msgspec.Struct):
    slug: str
    mitigation_id: UUID


class _Document(msgspec.Struct):
    """The members of a document that name objects; the entries of lists are skipped."""

    policies: list[_Policy] = []
    entities: list[_Entity] = []
    mitigations: list[_Mitigation] = []


def names_in(document: bytes) -> Names:
    """Return the ids in a definitions document."""
    read = msgspec.json.decode(document, type=_Document)
    return Names(
        {each.slug: each.policy_id for each in read.policies},
        {each.slug: each.entity_definition_id for each in read.entities},
        {each.slug: each.mitigation_id for each in read.mitigations},
    )


def names_of(connection: Connection, tenant_id: UUID, revision: int) -> Names:
    """Return the ids in the definitions of a revision; empty if they are no longer kept."""
    try:
        return names_in(definition_sets.load(connection, tenant_id, revision))
    except NotFoundError:
        return Names({}, {}, {})


@attrs.frozen
class Past:
    """An engine as it was before a decision, as far as the decision's entities matter."""

    engine: TenantEngine
    folded: int
    """How many earlier decisions the state was built from."""
    is_whole: bool
    """Whether all earlier decisions were used."""
    revisions: frozenset[int]
    """Revisions of the definitions that made those decisions."""
    damaged: int = 0
    """Earlier records that could not be read or repeated."""


def before(
    connection: Connection,
    known: CompileCache,
    found: FoundDecision,
    logged: LoggedDecision,
    redaction_key: bytes,
) -> Past:
    """Return the engine that made a decision, as it was.

    Args:
        connection: a connection of the store.
        found: the decision in the index.
        logged: the same in the log.
        redaction_key: the key for the hashes of secrets.

    Raises:
        NotFoundError: its definitions are no longer kept.
    """
    definitions = known.of_revision(
        found.tenant_id,
        logged.revision,
        lambda: _definitions(connection, found.tenant_id, logged.revision),
    )
    engine, after_seq = _base(connection, found, logged, definitions, redaction_key)
    history = decisions.history(
        connection, found, after_seq=after_seq, limit=MAX_FOLDED, max_examined=MAX_EXAMINED
    )
    revisions: set[int] = set()
    damaged: list[int] = [*history.damaged]
    for line in log.read_many(
        connection, history.seqs, found.tenant_id, lambda error: damaged.append(error.seq)
    ):
        try:
            entry = line.decision()
            engine.apply_effects([entry.effects])
        except (DamagedLogError, EffectsError):
            damaged.append(line.seq)
        else:
            revisions.add(entry.revision)
    return Past(engine, len(history.seqs), history.is_whole, frozenset(revisions), len(damaged))


def _definitions(connection: Connection, tenant_id: UUID, revision: int) -> Definitions:
    document = orjson.loads(definition_sets.load(connection, tenant_id, revision))
    return read_document(document).compiled.source


def _base(
    connection: Connection,
    found: FoundDecision,
    logged: LoggedDecision,
    definitions: Definitions,
    redaction_key: bytes,
) -> tuple[TenantEngine, int]:
    """Return an engine to fold into, and the number of the last decision in it."""
    engine = TenantEngine(definitions, redaction_key=redaction_key, events="any")
    wanted = _Wanted(engine, orjson.loads(logged.record)["entities"])
    for snapshot in snapshots.newest(connection, found.tenant_id, before_seq=found.seq):
        try:
            engine.load_state(_of_entities(snapshot.body, wanted))
        except (SnapshotError, msgspec.DecodeError):
            continue
        return engine, snapshot.seq
    return engine, 0


class _Wanted:
    """The entities of a record, for finding their rows in a snapshot.

    Either may come from an earlier version of Tidegate, which kept secrets in clear.
    """

    def __init__(self, engine: TenantEngine, entities: Sequence[Mapping[str, Any]]) -> None:
        self._engine = engine
        self._keys = [
            (each["definition"], engine.kept_key(each["definition"], each["key"]))
            for each in entities
        ]
        self._secret = {slug for slug, _ in self._keys if engine.has_secret_key(slug)}

    def has(self, definition: str, parts: msgspec.Raw) -> bool:
        """Tell whether a row belongs to one of them."""
        if all(definition != slug for slug, _ in self._keys):
            return False
        key = tuple(_part(from_wire(part)) for part in orjson.loads(memoryview(parts)))
        if definition in self._secret:
            key = self._engine.kept_key(definition, key)
        return any(definition == slug and _is_same(key, kept) for slug, kept in self._keys)


def _part(value: Any) -> Part:
    part = part_of(value)
    if part is None:
        raise SnapshotError("a key part has an unknown kind")
    return part


def _is_same(one: tuple[Part, ...], other: tuple[Part, ...]) -> bool:
    # In Python `True` equals 1.
    return orjson.dumps(one) == orjson.dumps(other)


class _Snapshot(msgspec.Struct):
    version: int
    tenant: str
    revision: int
    evictions: msgspec.Raw
    keys: list[msgspec.Raw]


def _of_entities(snapshot: bytes, entities: _Wanted) -> bytes:
    """Keep only some entities' states of the snapshot: reading a million would take seconds."""
    whole = msgspec.json.decode(snapshot, type=_Snapshot)
    wanted = []
    for row in whole.keys:
        definition, parts, *_ = _ROWS.decode(row)
        if entities.has(definition, parts):
            wanted.append(row)
    return msgspec.json.encode(
        _Snapshot(whole.version, whole.tenant, whole.revision, whole.evictions, wanted)
    )


_Raw = msgspec.Raw
_ROWS = msgspec.json.Decoder(tuple[str, _Raw, _Raw, _Raw, _Raw, _Raw, _Raw])
