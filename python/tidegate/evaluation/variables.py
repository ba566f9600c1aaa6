"""Declared variables: their values in an event, by type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidegate.errors import EvaluationError
from tidegate.evaluation.event import refuse
from tidegate.evaluation.json_text import Node, json_value
from tidegate.functions.addresses import parse_address, parse_network
from tidegate.functions.encoders import decode
from tidegate.functions.time import parse_duration, parse_timestamp
from tidegate.types import ListType, MapType, OptionalType, Primitive, Type, TypeType
from tidegate.values import Map, OptionalValue, TypeName, UInt, from_python, kind_of


def variable(members: Mapping[str, Node], name: str, declared: Type) -> tuple[Any, ...]:
    """The value of a variable in a one-element tuple, or ``()`` if the event has none.

    It is the member with the full name, or else the value at the dotted path through nested
    objects.  ``null`` is absent unless the type includes it.

    Raises:
        EventError: the event has a value of another type there.
    """
    path = [name] if name in members else name.split(".")
    node = _find(members, path)
    if node is None or (node.kind == "null" and not _has_null(declared)):
        return ()
    try:
        return (_converted(declared, json_value(node)),)
    except (TypeError, ValueError, EvaluationError) as error:
        raise refuse(f"the variable `{name}` has a value of another type", path, node) from error


def _find(members: Mapping[str, Node], path: list[str]) -> Node | None:
    node = members.get(path[0])
    for part in path[1:]:
        if node is None or node.kind != "object":
            return None
        node = node.content.get(part)
    return node


def _has_null(declared: Type) -> bool:
    return str(declared) in {"dyn", "null_type"} or isinstance(declared, OptionalType)


def _other_type() -> TypeError:
    return TypeError("a value of another type")


def _converted(declared: Type, value: Any) -> Any:
    """The value converted to its type; raises the errors that ``variable`` translates."""
    match declared:
        case Primitive():
            return _converted_scalar(declared.name, value)
        case TypeType():
            return _converted_scalar("type", value)
        case ListType() if isinstance(value, list):
            return [_converted(declared.element, each) for each in value]
        case MapType() if isinstance(value, Map):
            return Map(
                (_converted_key(declared.key, key), _converted(declared.value, each))
                for key, each in value.items()
            )
        case OptionalType():
            return _converted_optional(declared, value)
    raise _other_type()


def _converted_optional(declared: OptionalType, value: Any) -> OptionalValue:
    if value is None:
        return OptionalValue()
    if not isinstance(value, OptionalValue):
        return OptionalValue(_converted(declared.value, value))
    if not value.is_present:
        return value
    return OptionalValue(_converted(declared.value, value.content))


def _converted_scalar(name: str, value: Any) -> Any:
    kind = kind_of(value)
    if name == "dyn" or kind == _KINDS.get(name, name):
        return value
    if kind == "string" and name in _FROM_TEXT:
        found = _FROM_TEXT[name](value)
        if found is not None:
            return found
    elif name == "double" and kind in {"int", "uint"}:
        return float(int(value))
    elif name == "uint" and kind == "int" and value >= 0:
        return UInt(value)
    raise _other_type()


_KINDS = {"null_type": "null", "net.IP": "ip", "net.CIDR": "cidr"}

_FROM_TEXT: Mapping[str, Callable[[str], Any]] = {
    "bytes": decode,
    "timestamp": parse_timestamp,
    "duration": parse_duration,
    "type": TypeName,
    "net.IP": lambda text: parse_address(text, dotted_ipv6=True),
    "net.CIDR": lambda text: parse_network(text, dotted_ipv6=True),
}


def _converted_key(declared: Type, key: Any) -> Any:
    """The key of a map: JSON has only text for numbers and bools."""
    if isinstance(key, str) and str(declared) in {"int", "uint"}:
        digits = key.removeprefix("-") if str(declared) == "int" else key
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
            raise _other_type()
        return from_python(UInt(key) if str(declared) == "uint" else int(key))
    if key in {"true", "false"} and str(declared) == "bool":
        return key == "true"
    return _converted(declared, key)
