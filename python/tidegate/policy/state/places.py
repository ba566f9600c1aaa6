"""The parts of a recorded state that still fit the definitions, and how to parse them."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING
from uuid import UUID

from tidegate.policy.definitions.keys import EntityKey
from tidegate.policy.definitions.secrets import kept_parts

if TYPE_CHECKING:
    from tidegate.policy.definitions.compiled import (
        CompiledClause,
        CompiledDefinitions,
        CompiledEntity,
    )
    from tidegate.policy.definitions.keys import Part
    from tidegate.policy.definitions.secrets import Redacts

LATEST = 2**63 - 1
_MAX_DIGITS = 19
_NETWORKS = {(4, 24), (6, 48)}


def has_place(compiled: CompiledDefinitions, slug: str, key: EntityKey) -> bool:
    """Whether an entity definition has this slug and number of key parts."""
    definition = _definition(compiled, slug)
    return definition is not None and len(definition.key_fields) == len(key.parts)


def kept_key(
    compiled: CompiledDefinitions, slug: str, parts: tuple[Part, ...], redactor: Redacts | None
) -> EntityKey:
    """A key as stored: parts in clear that are secrets become hashes."""
    definition = _definition(compiled, slug)
    if definition is not None and len(definition.key_fields) == len(parts):
        parts = kept_parts(redactor, definition.key_readings, parts)
    return EntityKey.of(slug, parts)


def _definition(compiled: CompiledDefinitions, slug: str) -> CompiledEntity | None:
    return next((each for each in compiled.entities if each.slug == slug), None)


def bound_clause(
    compiled: CompiledDefinitions, entity: str, policy: str, name: str
) -> CompiledClause | None:
    """The clause with a name, if it belongs to this entity definition."""
    clause = compiled.clauses.get((policy, name))
    is_bound = clause is not None and clause.enabled and clause.entity == entity
    return clause if is_bound else None


def read_text(value: object) -> str:
    """A value that must be text.

    Raises:
        TypeError: it isn't text.
    """
    if not isinstance(value, str):
        raise TypeError("a text is missing")
    return value


def read_time(value: object) -> int:
    """A time in decimal text.

    Raises:
        ValueError: it isn't one, or exceeds 64 bits.
    """
    is_decimal = isinstance(value, str) and value.isascii() and value.isdecimal()
    text = str(value)
    if not is_decimal or len(text) > _MAX_DIGITS or int(text) > LATEST or text != str(int(text)):
        raise ValueError("a time is out of range")
    return int(text)


def read_pass_id(value: object) -> UUID:
    """The id of a pass, in the canonical text of ids.

    Raises:
        TypeError: it isn't text.
        ValueError: it isn't an id.
    """
    text = read_text(value)
    if str(UUID(text)) != text:
        raise ValueError("the id of a pass is in another form")
    return UUID(text)


def read_network(value: object) -> str | None:
    """The network of a client; None if there isn't one.

    Raises:
        TypeError: it isn't text.
        ValueError: it isn't a /24 or /48.
    """
    if value is None:
        return None
    network = ip_network(read_text(value))
    if str(network) != value or (network.version, network.prefixlen) not in _NETWORKS:
        raise ValueError("a network is in another form")
    return str(network)
