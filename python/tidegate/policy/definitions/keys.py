"""Keys of entities and counted values as canonical text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid5

import attrs
import orjson

from tidegate.values import kind_of
from tidegate.wire_values import to_wire

if TYPE_CHECKING:
    from uuid import UUID

Part: TypeAlias = str | int | bool


@attrs.frozen
class EntityKey:
    """A definition's slug and the canonical JSON array of the key parts.

    The text is compared, not the parts: in Python ``True`` equals 1.
    """

    definition: str
    text: str

    @classmethod
    def of(cls, definition: str, parts: tuple[Part, ...]) -> EntityKey:
        """The key with these parts."""
        return cls(definition, orjson.dumps(parts).decode())

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the key."""
        return tuple(orjson.loads(self.text))


def part_of(value: Any) -> Part | None:
    """A value as a key part; None if its kind cannot be part of a key.

    Addresses and networks become their text, an unsigned integer the same integer.
    """
    match kind_of(value):
        case "string" | "bool":
            part: Part = value
        case "int" | "uint":
            part = int(value)
        case "ip" | "cidr":
            part = to_wire(value)["value"]
        case _:
            return None
    return part


def counted_text(part: Part) -> str:
    """The text that identifies a value in a distinct window."""
    return part if isinstance(part, str) else orjson.dumps(part).decode()


def entity_id(tenant: UUID, definition_id: str, key: EntityKey) -> UUID:
    """The id of an entity: the same for the same tenant, definition and key, everywhere."""
    return uuid5(tenant, f"{definition_id}\n{key.text}")
