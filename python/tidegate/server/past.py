"""The past made again: the definitions that decided, and the state they decided on.

The state of a decision's entities is folded from what earlier decisions did to them, as far as
the log goes back, or from a snapshot between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import msgspec
import orjson

from tidegate.engine import Engine
from tidegate.errors import SnapshotError
from tidegate.policy.document import read_document
from tidegate.stores import decisions, definition_sets, log, snapshots
from tidegate.stores.base import NotFoundError
from tidegate.values import INT_MAX, UInt, to_wire

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.keys import Part
    from tidegate.policy.model import Definitions
    from tidegate.server.workers.known import KnownSets
    from tidegate.stores.decisions import FoundDecision
    from tidegate.stores.log import LoggedDecision

MAX_FOLDED = 20_000
"""Earlier decisions that one state is made from, a few seconds' work: twice as many as the
largest window looks back on."""
MAX_EXAMINED = 2_000_000
"""Decisions of the tenant that are looked through for them, about as long."""


@attrs.frozen
class Names:
    """The ids of a definition set by slug; None for what it does not have."""

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
    """What of a document names things: the entries of its lists are passed over."""

    policies: list[_Policy] = []
    entities: list[_Entity] = []
    mitigations: list[_Mitigation] = []


def names_in(document: bytes) -> Names:
    """The ids in a definitions document."""
    read = msgspec.json.decode(document, type=_Document)
    return Names(
        {each.slug: each.policy_id for each in read.policies},
        {each.slug: each.entity_definition_id for each in read.entities},
        {each.slug: each.mitigation_id for each in read.mitigations},
    )


def names_of(connection: Connection, tenant_id: UUID, revision: int) -> Names:
    """The ids of the definitions of a revision; none when they are no longer kept."""
    try:
        return names_in(definition_sets.load(connection, tenant_id, revision))
    except NotFoundError:
        return Names({}, {}, {})


@attrs.frozen
class Past:
    """An engine as it was before a decision, as far as the decision's entities go."""

    engine: Engine
    folded: int
    """Earlier decisions that the state was made from."""
    is_whole: bool
    """Whether all there are were looked at."""
    revisions: frozenset[int]
    """Of the definitions that made those decisions."""


def before(
    connection: Connection, known: KnownSets, found: FoundDecision, logged: LoggedDecision
) -> Past:
    """The engine that made a decision, as it was.

    Raises:
        NotFoundError: its definitions are no longer kept.
    """
    definitions = known.of_revision(
        found.tenant_id,
        logged.revision,
        lambda: _definitions(connection, found.tenant_id, logged.revision),
    )
    engine, after_seq = _base(connection, found, logged, definitions)
    history = decisions.history(
        connection, found, after_seq=after_seq, limit=MAX_FOLDED, max_examined=MAX_EXAMINED
    )
    revisions: set[int] = set()

    def effects() -> Iterator[bytes]:
        for line in log.read_many(connection, history.seqs, found.tenant_id):
            entry = line.decision()
            revisions.add(entry.revision)
            yield entry.effects

    engine.apply_effects(effects())
    return Past(engine, len(history.seqs), history.is_whole, frozenset(revisions))


def _definitions(connection: Connection, tenant_id: UUID, revision: int) -> Definitions:
    document = orjson.loads(definition_sets.load(connection, tenant_id, revision))
    return read_document(document).compiled.source


def _base(
    connection: Connection, found: FoundDecision, logged: LoggedDecision, definitions: Definitions
) -> tuple[Engine, int]:
    """An engine to fold into, and the number of the last decision it knows of."""
    entities = orjson.loads(logged.record)["entities"]
    keys = [(each["definition"], [_wire(part) for part in each["key"]]) for each in entities]
    for snapshot in snapshots.newest(connection, found.tenant_id, before_seq=found.seq):
        try:
            return Engine.restore(definitions, _of_entities(snapshot.body, keys)), snapshot.seq
        except (SnapshotError, msgspec.DecodeError):
            continue
    return Engine(definitions), 0


def _wire(part: Part) -> Any:
    is_large = not isinstance(part, str) and part > INT_MAX
    return to_wire(UInt(part) if is_large else part)


class _Snapshot(msgspec.Struct):
    version: int
    tenant: str
    revision: int
    evictions: msgspec.Raw
    keys: list[msgspec.Raw]


def _of_entities(snapshot: bytes, keys: list[tuple[str, list[Any]]]) -> bytes:
    """The snapshot with the state of some entities only: of a million, all would take seconds."""
    whole = msgspec.json.decode(snapshot, type=_Snapshot)
    wanted = []
    for row in whole.keys:
        definition, parts, *_ = _ROWS.decode(row)
        if (definition, orjson.loads(parts)) in keys:
            wanted.append(row)
    return msgspec.json.encode(
        _Snapshot(whole.version, whole.tenant, whole.revision, whole.evictions, wanted)
    )


_Raw = msgspec.Raw
_ROWS = msgspec.json.Decoder(tuple[str, _Raw, _Raw, _Raw, _Raw, _Raw, _Raw])
