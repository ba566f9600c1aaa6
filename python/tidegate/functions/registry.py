"""The declaration of functions: one signature per overload, next to its meaning.

A meaning is a plain Python function over the values of ``tidegate.values``.  It raises an
``EvaluationError`` without a span if it fails.  It may request parts of the evaluation by keyword:
``limit``, the longest string it may build; ``lists``, the named lists; ``charge``, which takes the
cost of comparisons.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tidegate.types import (
    ListType,
    MapType,
    OptionalType,
    Primitive,
    Signature,
    TypeParam,
    parse_signature,
)
from tidegate.values import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.types import Type

Meaning = TypeVar("Meaning", bound=Callable[..., Any])

_WANTS = ("limit", "lists", "charge")
_MAX_ARGUMENTS = 16
"""Most arguments of a variadic function; a list takes more."""


@attrs.frozen
class Overload:
    """One signature of a function and its meaning; ``wants`` names its keywords."""

    signature: Signature
    meaning: Callable[..., Any]
    wants: tuple[str, ...] = ()


@attrs.frozen
class Function:
    """A function with all overloads, in the order in which they are tried."""

    name: str
    member: bool
    overloads: tuple[Overload, ...]

    def choose(self, arguments: Sequence[object]) -> Overload | None:
        """The first overload with parameters that accept values of these kinds, or None."""
        for each in self.overloads:
            parameters = each.signature.params
            if len(parameters) == len(arguments) and all(map(_takes, parameters, arguments)):
                return each
        return None


_KINDS = {"null_type": "null", "net.IP": "ip", "net.CIDR": "cidr"}
"""The kinds with a name that differs from their type's."""


def _takes(parameter: Type, argument: object) -> bool:
    """Whether a parameter accepts a value, judged by its kind alone: parts are ignored."""
    match parameter:
        case Primitive(name="dyn") | TypeParam():
            return True
        case Primitive(name=name):
            return kind_of(argument) == _KINDS.get(name, name)
        case ListType():
            return kind_of(argument) == "list"
        case MapType():
            return kind_of(argument) == "map"
        case OptionalType():
            return kind_of(argument) == "optional"
        case _:
            return kind_of(argument) == "type"


_declared: dict[tuple[str, bool], list[Overload]] = {}


def overload(*signatures: str) -> Callable[[Meaning], Meaning]:
    """Declare a Python function as the meaning of these signatures.

    Operators use their sign: ``+(int, int) -> int``.  A signature whose parameters end in ``...``
    accepts any number of the last one.
    """

    def declare(meaning: Meaning) -> Meaning:
        wants = tuple(name for name in _WANTS if name in inspect.signature(meaning).parameters)
        for text in signatures:
            for single in _expanded(text):
                signature = parse_signature(single)
                overloads = _declared.setdefault((signature.name, signature.member), [])
                overloads.append(Overload(signature, meaning, wants))
        return meaning

    return declare


def _expanded(text: str) -> list[str]:
    head, dots, tail = text.partition("...")
    if not dots:
        return [text]
    repeated = head.rpartition("(")[2]
    counts = range(_MAX_ARGUMENTS)
    return [head + f", {repeated}" * count + tail for count in counts]


def declared() -> dict[tuple[str, bool], Function]:
    """Every function declared so far."""
    return {
        (name, member): Function(name, member, tuple(overloads))
        for (name, member), overloads in _declared.items()
    }
