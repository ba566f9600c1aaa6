"""Resolves names: fields, type names and functions, looked up through the container.

CEL's rule: in the container ``a.b`` the name ``x.y`` is ``a.b.x.y``, else ``a.x.y``, else ``x.y``;
the longest declared dotted name wins; a leading dot skips the container; a variable of an enclosing
macro takes precedence over all.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import attrs

from tidegate.language.tree.ast import Identifier, Node, Select
from tidegate.language.tree.diagnostics import nearest
from tidegate.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    ListType,
    MapType,
    OptionalType,
    Type,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.language.tree.schema import Schema

TYPE_NAMES: Mapping[str, Type] = {
    "bool": BOOL,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "null_type": NULL,
    "type": TYPE,
    "list": ListType(DYN),
    "map": MapType(DYN, DYN),
    "optional_type": OptionalType(DYN),
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION,
    "net.IP": IP,
    "net.CIDR": CIDR,
}
"""Types that are values under their name."""


@attrs.frozen
class Chain:
    """``a.b.c`` as written: the root and the selections, outermost last."""

    root: Identifier
    selects: tuple[Select, ...]

    def name(self, length: int | None = None) -> str:
        """The dotted name of the first ``length`` parts."""
        parts = [self.root.name, *(select.field for select in self.selects)]
        return ".".join(parts[:length])


def chain_of(node: Node) -> Chain | None:
    """The chain of plain names in a node, or None."""
    selects: list[Select] = []
    while type(node) is Select and not node.optional:
        selects.append(node)
        node = node.operand
    if type(node) is not Identifier:
        return None
    selects.reverse()
    return Chain(node, tuple(selects))


@cache
def containers(container: str) -> tuple[str, ...]:
    """The prefixes under which a name is looked up, innermost first."""
    parts = container.split(".") if container else []
    return tuple(".".join([*parts[:count], ""]) for count in range(len(parts), -1, -1))


def candidates(name: str, container: str, absolute: bool = False) -> Iterable[str]:
    """The full names that ``name`` may mean, in the order they are tried."""
    if absolute or not container:
        return (name,)
    return [prefix + name for prefix in containers(container)]


def declared_prefix(chain: Chain, schema: Schema) -> tuple[str, int] | None:
    """The longest declared name at the start of a chain, and its number of parts."""
    for length in range(len(chain.selects) + 1, 0, -1):
        name = chain.name(length)
        for full in candidates(name, schema.container, chain.root.absolute):
            if full in schema.fields or full in TYPE_NAMES:
                return full, length
    return None


def unknown_part(chain: Chain, schema: Schema) -> tuple[str, int]:
    """The shortest start of an undeclared chain that no declared name has, and its length."""
    for length in range(1, len(chain.selects) + 2):
        name = chain.name(length)
        if not any(
            full in schema.namespaces
            for full in candidates(name, schema.container, chain.root.absolute)
        ):
            return name, length
    return chain.name(), len(chain.selects) + 1


def suggested_field(chain: Chain, schema: Schema) -> str | None:
    """The declared name probably meant by an undeclared chain."""
    name, _ = unknown_part(chain, schema)
    last = name.rpartition(".")[2]
    by_last = [known for known in schema.fields if known.rpartition(".")[2] == last]
    if len(by_last) == 1:
        return by_last[0]
    return nearest(chain.name(), schema.fields) or nearest(name, schema.fields)
