"""Keys of entities and of counted values in their canonical text."""

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

    The text, not the parts, is what is compared: in Python ``True`` equals 1.
    """

    definition: str
    text: str

    @classmethod
    def of(cls, definition: str, parts: tuple[Part, ...]) -> EntityKey:
        """The key of these parts."""
        return cls(definition, orjson.dumps(parts).decode())

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts again."""
        return tuple(orjson.loads(self.text))


def part_of(value: Any) -> Part | None:
    """A value as a key part, None for one of a kind that cannot be part of a key.

    Addresses and networks are their text; an unsigned integer is that integer.
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
    """The text by which a distinct window knows a value."""
    return part if isinstance(part, str) else orjson.dumps(part).decode()


def entity_id(tenant: UUID, definition_id: str, key: EntityKey) -> UUID:
    """The id of an entity: the same for the same tenant, definition and key, anywhere."""
    return uuid5(tenant, f"{definition_id}\n{key.text}")
