"""Compiled definitions as JSON, the native engine's input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.definitions.compiled import (
        CompiledClause,
        CompiledDefinitions,
        CompiledEntity,
        CompiledMitigation,
        CompiledPolicy,
        CompiledWindow,
    )
    from tidegate.policy.definitions.secrets import Reading

VERSION = 1


def bundle(compiled: CompiledDefinitions) -> bytes:
    """The whole set as JSON; objects refer to each other by position."""
    return orjson.dumps(
        {
            "version": VERSION,
            "tenant": str(compiled.tenant),
            "revision": compiled.revision,
            "limits": attrs.asdict(compiled.limits),
            "fields": {name: str(type_) for name, type_ in compiled.fields.items()},
            "lists": {name: attrs.asdict(named) for name, named in compiled.lists.items()},
            "trusted_proxies": [str(each.network) for each in compiled.trusted_proxies],
            "max_keys": compiled.max_keys,
            "on_budget_exceeded": compiled.on_budget_exceeded,
            "actions": [
                {"slug": each.slug, "expression": orjson.Fragment(each.expression.canonical)}
                for each in compiled.actions
            ],
            "entities": [_entity(each) for each in compiled.entities],
            "mitigations": [_mitigation(each) for each in compiled.mitigations],
            "policies": _policies(compiled),
            "overrides": _overrides(compiled),
        }
    )


def change(before: CompiledDefinitions, compiled: CompiledDefinitions) -> bytes | None:
    """The changes since an engine's definitions, as JSON for that engine.

    Args:
        before: the engine's definitions.
        compiled: the changed ones; an identical object is an unchanged policy.

    Returns:
        None if more than policies and overrides differ: then build a new engine (:func:`bundle`).
    """
    if not _differ_in_policies(before, compiled):
        return None
    places = {id(each): at for at, each in enumerate(before.policies)}
    positions = _positions(compiled)
    pieces: list[_Piece] = [_Piece()]
    for policy in compiled.policies:
        at = places.get(id(policy))
        if at is None:
            pieces[-1].new.append(_policy(policy, positions))
        elif not pieces[-1].takes(at):
            pieces.append(_Piece(at, 1))
    return orjson.dumps(
        {
            "base_revision": before.revision,
            "revision": compiled.revision,
            "policies": [{"kept": [each.start, each.count], "new": each.new} for each in pieces],
            "overrides": _overrides(compiled),
        }
    )


@attrs.define
class _Piece:
    """Consecutive kept policies, and new ones after them."""

    start: int = 0
    count: int = 0
    new: list[dict[str, Any]] = attrs.field(factory=list)

    def takes(self, at: int) -> bool:
        """Add a kept policy, if it comes next."""
        if self.new or at != self.start + self.count:
            return False
        self.count += 1
        return True


def _differ_in_policies(before: CompiledDefinitions, compiled: CompiledDefinitions) -> bool:
    """Whether definitions differ only in policies and overrides."""
    source, other = before.source, compiled.source
    return (
        source.tenant.tenant_id == other.tenant.tenant_id
        and source.settings == other.settings
        and before.limits == compiled.limits
        and source.lists == other.lists
        and source.actions == other.actions
        and source.entities == other.entities
        and source.mitigations == other.mitigations
    )


def _entity(entity: CompiledEntity) -> dict[str, Any]:
    return {
        "slug": entity.slug,
        "id": entity.id,
        "priority": entity.priority,
        "on_missing_key": entity.on_missing_key,
        "match_expression": _optional(entity.match),
        "key_fields": [orjson.Fragment(each.canonical) for each in entity.key_fields],
        "key_readings": [_reading(each) for each in entity.key_readings],
    }


def _reading(read: Reading) -> dict[str, Any]:
    return {"name": read.name, "secret": read.is_secret}


def _mitigation(mitigation: CompiledMitigation) -> dict[str, Any]:
    block, challenge = mitigation.block, mitigation.challenge
    headers = [
        {
            "name": each.name,
            "expression": orjson.Fragment(each.expression.canonical),
            "reading": _reading(each.reading),
        }
        for each in mitigation.headers
    ]
    return {
        "slug": mitigation.slug,
        "mode": mitigation.mode,
        "ttl_seconds": mitigation.ttl_seconds,
        "challenge": attrs.asdict(challenge) if challenge else None,
        "block": attrs.asdict(block) | {"computed_headers": headers} if block else None,
    }


def _policies(compiled: CompiledDefinitions) -> list[dict[str, Any]]:
    positions = _positions(compiled)
    return [_policy(each, positions) for each in compiled.policies]


def _positions(compiled: CompiledDefinitions) -> dict[str, dict[str, int]]:
    return {
        "actions": _places(compiled.actions),
        "entities": _places(compiled.entities),
        "mitigations": _places(compiled.mitigations),
    }


def _places(objects: tuple[Any, ...]) -> dict[str, int]:
    return {each.slug: at for at, each in enumerate(objects)}


def _policy(policy: CompiledPolicy, places: Mapping[str, dict[str, int]]) -> dict[str, Any]:
    return {
        "slug": policy.slug,
        "id": policy.id,
        "expression": _optional(policy.expression),
        "clauses": [_clause(each, places) for each in policy.clauses],
    }


def _clause(clause: CompiledClause, places: Mapping[str, dict[str, int]]) -> dict[str, Any]:
    live = clause.enabled
    return {
        "name": clause.name,
        "enabled": live,
        "expression": _optional(clause.expression) if live else None,
        "actions": [places["actions"][slug] for slug in clause.actions] if live else [],
        "entity": places["entities"][clause.entity] if live and clause.entity else None,
        "mitigation": places["mitigations"][clause.mitigation.slug] if clause.mitigation else None,
        "window": _window(clause.window) if live and clause.window else None,
        "final": clause.final,
    }


def _window(window: CompiledWindow) -> dict[str, Any]:
    return {
        "duration_seconds": window.duration_seconds,
        "threshold": window.threshold,
        "measure": window.measure,
        "field": _optional(window.field),
        "field_reading": _reading(window.field_reading) if window.field_reading else None,
    }


def _overrides(compiled: CompiledDefinitions) -> list[dict[str, Any]]:
    return [
        {
            "id": each.id,
            "kind": each.kind,
            "network": None if each.network is None else str(each.network),
            "entity_id": each.entity_id,
            "starts_at": each.starts_at,
            "ends_at": each.ends_at,
        }
        for each in compiled.overrides.all
    ]


def _optional(expression: CheckedExpression | None) -> orjson.Fragment | None:
    return None if expression is None else orjson.Fragment(expression.canonical)
