"""The types of the language, their text form, the signatures of functions, and named lists.

Types are frozen values compared by structure; the primitives are singletons, so ``is`` works for
them, also for those from ``parse_type``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# More than an expression within the limits can nest; every walk over a type may recurse.
_MAX_DEPTH = 100
_MAX_LENGTH = 4096


@attrs.frozen(eq=False)
class Primitive:
    """A type without parameters; exactly one object per name."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], Primitive], tuple[str]]:
        return _primitive, (self.name,)


def _primitive(name: str) -> Primitive:
    return PRIMITIVES[name]


BOOL = Primitive("bool")
INT = Primitive("int")
UINT = Primitive("uint")
DOUBLE = Primitive("double")
STRING = Primitive("string")
BYTES = Primitive("bytes")
NULL = Primitive("null_type")
TIMESTAMP = Primitive("timestamp")
DURATION = Primitive("duration")
TYPE = Primitive("type")
"""The type of any type; compatible with every ``TypeType`` in both directions."""
IP = Primitive("net.IP")
CIDR = Primitive("net.CIDR")
DYN = Primitive("dyn")
"""Known only at evaluation: agrees with every type."""

PRIMITIVES = {
    kind.name: kind
    for kind in (
        BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TIMESTAMP, DURATION, TYPE, IP, CIDR, DYN,
    )
}  # fmt: skip


@attrs.frozen
class ListType:
    element: Type

    def __str__(self) -> str:
        return f"list({self.element})"


@attrs.frozen
class MapType:
    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map({self.key}, {self.value})"


@attrs.frozen
class OptionalType:
    value: Type

    def __str__(self) -> str:
        return f"optional_type({self.value})"


@attrs.frozen
class TypeType:
    """The type of the type name ``of``: ``int`` used as a value has type ``type(int)``."""

    of: Type

    def __str__(self) -> str:
        return f"type({self.of})"


@attrs.frozen
class TypeParam:
    """A type parameter of a signature, or a variable created during inference."""

    name: str

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class AbstractType:
    """A type declared by the host, known by name and parameters only."""

    name: str
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})"


Type: TypeAlias = (
    Primitive | ListType | MapType | OptionalType | TypeType | TypeParam | AbstractType
)


@attrs.frozen
class NamedList:
    """A list kept outside the rules: addresses and networks, or plain strings."""

    kind: Literal["ip", "string"]
    entries: tuple[str, ...]


@attrs.frozen
class Signature:
    """One overload of a function; for a member, ``params[0]`` is the receiver."""

    name: str
    member: bool
    params: tuple[Type, ...]
    result: Type

    def __str__(self) -> str:
        if self.member:
            rest = ", ".join(map(str, self.params[1:]))
            return f"{self.params[0]}.{self.name}({rest}) -> {self.result}"
        return f"{self.name}({', '.join(map(str, self.params))}) -> {self.result}"


def parse_type(text: str) -> Type:
    """The type that ``text`` names, such as ``map(string, list(int))``.

    Raises:
        ValueError: the text isn't a type.
    """
    return _parse_type(text)


def parse_signature(text: str) -> Signature:
    """Read ``string.contains(string) -> bool`` or ``math.greatest(list(A)) -> A``.

    The part before the last dot of the name is the receiver's type if it is a type, else a
    namespace.  Single capital letters are type parameters.

    Raises:
        ValueError: the text isn't a signature.
    """
    head, arrow, result = text.rpartition("->")
    head = head.strip()
    if not arrow or not head.endswith(")"):
        raise ValueError(f"no signature: `{text}`")
    opening = _matching_parenthesis(head)
    name, params = head[:opening].strip(), _parse_list(head[opening + 1 : -1])
    receiver, dot, rest = name.rpartition(".")
    if dot:
        try:
            params = (_parse_type(receiver), *params)
        except ValueError:
            return Signature(name, False, params, _parse_type(result))
        return Signature(rest, True, params, _parse_type(result))
    return Signature(name, False, params, _parse_type(result))


def _matching_parenthesis(text: str) -> int:
    """The position of the parenthesis that the last character closes."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise ValueError(f"unbalanced parentheses: `{text}`")


def _parse_list(text: str) -> tuple[Type, ...]:
    if not text.strip():
        return ()
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return tuple(map(_parse_type, parts))


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_CONSTRUCTORS: Mapping[str, tuple[Callable[..., Type], int]] = {
    "list": (ListType, 1),
    "map": (MapType, 2),
    "optional_type": (OptionalType, 1),
    "type": (TypeType, 1),
}


@cache
def _parse_known(text: str) -> Type:
    name, parenthesis, rest = text.partition("(")
    name = name.strip()
    if not parenthesis:
        if name in PRIMITIVES:
            return PRIMITIVES[name]
        if len(name) == 1 and "A" <= name <= "Z":
            return TypeParam(name)
        raise ValueError(f"unknown type `{text}`")
    if not rest.endswith(")") or not _NAME.match(name):
        raise ValueError(f"no type: `{text}`")
    parameters = _parse_list(rest[:-1])
    if name not in _CONSTRUCTORS:
        return AbstractType(name, parameters)
    constructor, count = _CONSTRUCTORS[name]
    if len(parameters) != count:
        raise ValueError(f"`{name}` takes {count} type parameters")
    return constructor(*parameters)


def _parse_type(text: str) -> Type:
    text = text.strip()
    if text.count("(") > _MAX_DEPTH or len(text) > _MAX_LENGTH:
        raise ValueError("type nests too deeply")
    return _parse_known(text)
