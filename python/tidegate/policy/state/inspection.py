"""Lets operators inspect entities; equal from both evaluators."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import orjson

from tidegate.policy.definitions.keys import EntityKey, Part, entity_id
from tidegate.policy.definitions.model import Mode
from tidegate.policy.state.windows import CountWindow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.state.state import Block, ClauseKey
    from tidegate.policy.state.windows import Window

MitigationName: TypeAlias = tuple[str, str, str, str]
"""Definition, JSON array of the key parts, policy and clause: the sort order of listed mitigations.
"""


@attrs.frozen
class ActiveMitigation:
    """A mitigation that has not ended; times are nanoseconds since 1970."""

    entity_id: str
    definition: str
    key: tuple[Part, ...]
    policy: str
    clause: str
    mitigation: str
    mode: Mode
    expires_at: int

    @property
    def name(self) -> MitigationName:
        """Its identity among mitigations."""
        return (
            self.definition,
            EntityKey.of(self.definition, self.key).text,
            self.policy,
            self.clause,
        )


@attrs.frozen
class WindowState:
    """A window's count, without another event; times are nanoseconds since 1970.

    Attributes:
        policy: the slug of the policy.
        clause: the name of its clause.
        value: the count, up to the threshold.
        threshold: the count at which the clause fires.
        duration: the window's length, in nanoseconds.
        falls_at: when the oldest counted event leaves the window and the count drops; a window at
            its threshold drops below it then. None if nothing is counted.
    """

    policy: str
    clause: str
    value: int
    threshold: int
    duration: int
    falls_at: int | None


@attrs.frozen
class EntityState:
    """The state of an entity; times are nanoseconds since 1970."""

    entity_id: str
    definition: str
    key: tuple[Part, ...]
    event_count: int
    first_seen_at: int
    last_seen_at: int
    windows: tuple[WindowState, ...]
    mitigations: tuple[ActiveMitigation, ...]


def read_active(text: bytes) -> list[ActiveMitigation]:
    """Parse an evaluator's active mitigations from JSON."""
    return [ActiveMitigation(**{**each, "key": tuple(each["key"])}) for each in orjson.loads(text)]


def read_state(text: bytes) -> EntityState:
    """Parse an evaluator's entity state from JSON."""
    data = orjson.loads(text)
    about = {"entity_id": data["entity_id"], "definition": data["definition"]}
    key = tuple(data["key"])
    return EntityState(
        **about,
        key=key,
        event_count=data["event_count"],
        first_seen_at=data["first_seen_at"],
        last_seen_at=data["last_seen_at"],
        windows=tuple(WindowState(**each) for each in data["windows"]),
        mitigations=tuple(
            ActiveMitigation(**about, key=key, **each) for each in data["mitigations"]
        ),
    )


def active(
    compiled: CompiledDefinitions,
    blocks: Iterable[tuple[EntityKey, Block]],
    at: int,
    limit: int,
    after: MitigationName | None = None,
) -> bytes:
    """The first active mitigations after one, as JSON."""
    named = sorted(
        ((key.definition, key.text, *clause), key, block)
        for key, block in blocks
        for clause, expires_at in block.mitigations.items()
        if at < expires_at
    )
    wanted = (each for each in named if after is None or each[0] > after)
    return orjson.dumps(
        [
            {**_entity(compiled, key), **_mitigation(compiled, block, name[2:])}
            for name, key, block in islice(wanted, limit)
        ]
    )


def state(compiled: CompiledDefinitions, key: EntityKey, block: Block, at: int) -> bytes:
    """The state of an entity, as JSON."""
    return orjson.dumps(
        {
            **_entity(compiled, key),
            "event_count": block.event_count,
            "first_seen_at": block.first_seen,
            "last_seen_at": block.last_seen,
            "windows": [
                _window(compiled, clause, block.windows[clause], at)
                for clause in compiled.clauses
                if clause in block.windows
            ],
            "mitigations": [
                _mitigation(compiled, block, clause)
                for clause in compiled.clauses
                if at < block.mitigations.get(clause, 0)
            ],
        }
    )


def identity(compiled: CompiledDefinitions, key: EntityKey) -> str:
    """The id of an entity of these definitions."""
    definition = next(each for each in compiled.entities if each.slug == key.definition)
    return str(entity_id(compiled.tenant, definition.id, key))


def _entity(compiled: CompiledDefinitions, key: EntityKey) -> dict[str, Any]:
    return {
        "entity_id": identity(compiled, key),
        "definition": key.definition,
        "key": orjson.Fragment(key.text),
    }


def _mitigation(compiled: CompiledDefinitions, block: Block, clause: ClauseKey) -> dict[str, Any]:
    mitigation = compiled.clauses[clause].mitigation
    assert mitigation is not None
    return {
        "policy": clause[0],
        "clause": clause[1],
        "mitigation": mitigation.slug,
        "mode": mitigation.mode,
        "expires_at": block.mitigations[clause],
    }


def _window(
    compiled: CompiledDefinitions, clause: ClauseKey, window: Window, at: int
) -> dict[str, Any]:
    rule = compiled.clauses[clause].window
    assert rule is not None
    if isinstance(window, CountWindow):
        times = window.times
    else:
        times = tuple(time for _, time in window.values)
    edge = max(at, times[-1]) - rule.duration
    inside = [time for time in times if time > edge]
    return {
        "policy": clause[0],
        "clause": clause[1],
        "value": len(inside),
        "threshold": rule.threshold,
        "duration": rule.duration,
        "falls_at": inside[0] + rule.duration if inside else None,
    }
