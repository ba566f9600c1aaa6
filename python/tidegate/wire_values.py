"""Converts values to and from VALUE of docs/canonical-tree.md."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import math
from typing import Any

from tidegate.values import (
    NANOSECONDS,
    Duration,
    Map,
    OptionalValue,
    PartsBudget,
    Timestamp,
    TypeName,
    UInt,
    in_range,
    kind_of,
    unmapped,
    unmapped_network,
)


def to_wire(value: Any) -> dict[str, Any]:
    """VALUE of docs/canonical-tree.md, as a JSON-ready dict.

    Raises:
        ValueError: written out, the value has more than ``MAX_PARTS`` parts.
    """
    return _to_wire(value, 0, PartsBudget())


def _to_wire(value: Any, depth: int, budget: PartsBudget) -> dict[str, Any]:
    budget.take(depth)
    kind = kind_of(value)
    match kind:
        case "null":
            return {"type": kind}
        case "bool" | "string":
            return {"type": kind, "value": value}
        case "int" | "uint":
            return {"type": kind, "value": str(int(value))}
        case "double":
            return {"type": kind, "value": _double_to_wire(value)}
        case "bytes":
            return {"type": kind, "value": base64.b64encode(value).decode()}
        case "list":
            return {"type": kind, "value": [_to_wire(part, depth + 1, budget) for part in value]}
        case "map":
            entries = [
                [_to_wire(key, depth + 1, budget), _to_wire(part, depth + 1, budget)]
                for key, part in value.items()
            ]
            return {"type": kind, "value": entries}
        case "timestamp" | "duration":
            return {"type": kind, **_nanoseconds_to_wire(kind, value.nanoseconds)}
        case "type":
            return {"type": kind, "value": value.name}
        case "optional":
            inner = _to_wire(value.content, depth + 1, budget) if value.is_present else None
            return {"type": kind, "value": inner}
        case _:
            return {"type": kind, "value": str(value)}


def _double_to_wire(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _nanoseconds_to_wire(kind: str, nanoseconds: int) -> dict[str, Any]:
    """Seconds and nanos: both of one sign in a duration, nanos never negative in a timestamp."""
    seconds, nanos = divmod(nanoseconds, NANOSECONDS)
    if kind == "duration" and seconds < 0 and nanos:
        seconds, nanos = seconds + 1, nanos - NANOSECONDS
    return {"seconds": str(seconds), "nanos": nanos}


def from_wire(wire: object) -> Any:
    """Parse a VALUE; strict, since wire data comes from outside.

    Raises:
        ValueError: ``wire`` isn't a well-formed VALUE.
    """
    return _from_wire(wire, 0, PartsBudget())


def _from_wire(wire: Any, depth: int, budget: PartsBudget) -> Any:
    budget.take(depth)
    if not isinstance(wire, dict) or not isinstance(wire.get("type"), str):
        raise ValueError("a value must be an object with a type")
    kind, content = wire["type"], wire.get("value")
    match kind, content:
        case "null", None:
            return None
        case "list", list():
            return [_from_wire(part, depth + 1, budget) for part in content]
        case "map", list():
            return _map_from_wire(content, depth, budget)
        case "optional", None:
            return OptionalValue()
        case "optional", dict():
            return OptionalValue(_from_wire(content, depth + 1, budget))
        case (("timestamp" | "duration"), None):
            return _nanoseconds_from_wire(kind, wire)
        case "bool", bool():
            return content
        case _, str():
            return _scalar_from_wire(kind, content)
    raise ValueError(f"a value of type `{kind[:40]}` is malformed")


def _map_from_wire(entries: list[Any], depth: int, budget: PartsBudget) -> Map:
    pairs = []
    for entry in entries:
        if not isinstance(entry, list) or len(entry) != 2:
            raise ValueError("an entry of a map must be a pair")
        pairs.append(tuple(_from_wire(part, depth + 1, budget) for part in entry))
    try:
        return Map((key, value) for key, value in pairs)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _scalar_from_wire(kind: str, text: str) -> Any:
    match kind:
        case "string":
            return in_range(text)
        case "int":
            return in_range(_integer_from_wire(text))
        case "uint":
            return in_range(UInt(_integer_from_wire(text)))
        case "double":
            return float(text)
        case "bytes":
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error as error:
                raise ValueError("the bytes are no base64") from error
        case "type":
            return TypeName(text)
        case "ip":
            return unmapped(ipaddress.ip_address(text))
        case "cidr":
            return unmapped_network(ipaddress.ip_interface(text))
    raise ValueError(f"`{kind[:40]}` is no type of value")


def _integer_from_wire(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise ValueError(f"`{text[:40]}` is no integer")
    return int(text)


def _nanoseconds_from_wire(kind: str, wire: dict[str, Any]) -> Any:
    seconds, nanos = wire.get("seconds"), wire.get("nanos")
    if not isinstance(seconds, str) or type(nanos) is not int or abs(nanos) >= NANOSECONDS:
        raise ValueError(f"a value of type `{kind}` needs seconds and nanos")
    total = _integer_from_wire(seconds) * NANOSECONDS + nanos
    return in_range(Timestamp(total) if kind == "timestamp" else Duration(total))
