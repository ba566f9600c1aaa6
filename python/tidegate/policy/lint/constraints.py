"""The values that a test allows: texts, networks and numbers."""

from __future__ import annotations

from functools import cached_property
from ipaddress import IPv4Interface, IPv6Interface
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from tidegate.functions.addresses import contains, parse_range
from tidegate.language.check.references import references_of
from tidegate.language.tree import checked
from tidegate.language.tree.checked import Call, Checked, Field, Index
from tidegate.language.tree.schema import ENTITY_STATE, FIELD_MODEL
from tidegate.types import INT
from tidegate.values import Network, is_number

if TYPE_CHECKING:
    from collections.abc import Callable

Kind: TypeAlias = Literal["value", "prefix", "suffix", "part", "network", "number"]

_TEXT_TESTS: dict[str, Kind] = {
    "startsWith": "prefix",
    "startsWithAny": "prefix",
    "endsWith": "suffix",
    "endsWithAny": "suffix",
    "contains": "part",
    "containsAny": "part",
}
_INTEGERS = frozenset(("int", "size", "uint"))


@attrs.frozen
class Range:
    """Numbers between two bounds; ``None`` isn't a bound."""

    low: int | float | None = None
    high: int | float | None = None
    without_low: bool = False
    without_high: bool = False

    def includes(self, other: Range) -> bool:
        """Whether every number of another range is in this one."""
        above = self.low is None or (
            other.low is not None
            and (
                other.low > self.low
                or (other.low == self.low and (other.without_low or not self.without_low))
            )
        )
        below = self.high is None or (
            other.high is not None
            and (
                other.high < self.high
                or (other.high == self.high and (other.without_high or not self.without_high))
            )
        )
        return above and below

    def meets(self, other: Range) -> bool:
        """Whether some number is in both."""
        return not (self._is_below(other) or other._is_below(self))

    def meet(self, other: Range) -> Range:
        """The numbers in both."""
        lows = [each for each in (self, other) if each.low is not None]
        highs = [each for each in (self, other) if each.high is not None]
        low = max(lows, key=lambda each: (each.low, each.without_low), default=Range())
        high = min(highs, key=lambda each: (each.high, not each.without_high), default=Range())
        return Range(low.low, high.high, low.without_low, high.without_high)

    def is_empty(self, *, whole: bool) -> bool:
        """Whether no number is in it.

        Args:
            whole: only integers count.
        """
        if self.low is None or self.high is None:
            return False
        if self.low > self.high:
            return True
        if self.low == self.high:
            return self.without_low or self.without_high
        return whole and self.without_low and self.without_high and self._one_apart()

    def _one_apart(self) -> bool:
        is_whole = isinstance(self.low, int) and isinstance(self.high, int)
        return is_whole and self.high - self.low == 1  # type: ignore[operator]

    def _is_below(self, other: Range) -> bool:
        if self.high is None or other.low is None:
            return False
        is_open = self.without_high or other.without_low
        return self.high < other.low or (self.high == other.low and is_open)


_COMPARED: dict[str, Callable[[int | float], Range]] = {
    "==": lambda bound: Range(bound, bound),
    "<": lambda bound: Range(None, bound, without_high=True),
    "<=": lambda bound: Range(None, bound),
    ">": lambda bound: Range(bound, None, without_low=True),
    ">=": lambda bound: Range(bound, None),
}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
Option: TypeAlias = "str | bool | Network | Range"


@attrs.frozen(eq=False)
class Constraint:
    """The constraint of an atom on one part of the event.

    Attributes:
        kind: how it tests.
        subject: the part that it tests.
        options: the alternatives, one of which holds, or, for an atom that must be false, none.
        wanted: whether one holds.
    """

    kind: Kind
    subject: Checked
    options: tuple[Option, ...]
    wanted: bool

    @cached_property
    def key(self) -> str:
        """The subject as text."""
        return repr(self.subject)


def read_constraint(node: Checked, wanted: bool = True) -> Constraint | None:
    """Read the constraint of a test on its subject; None if it isn't a test with constants.

    Args:
        node: the test.
        wanted: the result that it must have.
    """
    if not isinstance(node, Call) or len(node.arguments) != 2:
        return Constraint("value", node, (wanted,), True) if _is_bool_field(node) else None
    if checked.list_name(node) is not None:
        return None
    subject, constant = node.arguments
    if node.function == "containsIP":
        subject, constant = constant, _network_in(subject)
    if not isinstance(constant, checked.Literal) or isinstance(subject, checked.Literal):
        return None
    values = constant.value if isinstance(constant.value, list) else [constant.value]
    return _text_constraint(node.function, subject, values, wanted) or _number_constraint(
        node.function, subject, values, wanted
    )


def is_whole(subject: Checked) -> bool:
    """Whether the values of a part are integers."""
    match subject:
        case Field(name):
            return FIELD_MODEL.get(name, ENTITY_STATE.get(name)) == INT
        case Call(function):
            return function in _INTEGERS
        case _:
            return False


def reads_lists(node: Checked) -> bool:
    """Whether a test's result depends on a named list."""
    return bool(references_of(node).lists)


def covers(kind: Kind, outer: Option, inner: Option) -> bool:
    """Whether every value with ``inner`` also has ``outer``."""
    match outer, inner:
        case str(), str():
            if kind == "prefix":
                return inner.startswith(outer)
            if kind == "suffix":
                return inner.endswith(outer)
            return outer in inner if kind == "part" else outer == inner
        case Range(), Range():
            return outer.includes(inner)
        case bool(), _:
            return outer is inner
        case ((IPv4Interface() | IPv6Interface()), (IPv4Interface() | IPv6Interface())):
            return outer.network.prefixlen <= inner.network.prefixlen and contains(outer, inner.ip)
        case _:
            return False


def excludes(kind: Kind, one: Option, other: Option) -> bool:
    """Whether no value has both."""
    if kind == "part":
        return False
    if isinstance(one, Range) and isinstance(other, Range):
        return not one.meets(other)
    return not covers(kind, one, other) and not covers(kind, other, one)


def _is_bool_field(node: Checked) -> bool:
    return isinstance(node, (Field, Index))


def _network_in(node: Checked) -> Checked:
    """The text of a constant network, or the node itself."""
    match node:
        case Call("cidr", _, (checked.Literal() as text,)):
            return text
        case checked.Literal(value) if not isinstance(value, str):
            return checked.Literal(str(value))
        case _:
            return node


def _text_constraint(
    function: str, subject: Checked, values: list[object], wanted: bool
) -> Constraint | None:
    texts = tuple(each for each in values if isinstance(each, (str, bool)))
    if len(texts) != len(values) or not texts:
        return None
    if function in ("inIpRange", "containsIP"):
        networks = tuple(parse_range(each) for each in texts if isinstance(each, str))
        known = tuple(each for each in networks if each is not None)
        is_read = len(known) == len(values) and (wanted or function == "inIpRange")
        return Constraint("network", subject, known, wanted) if is_read else None
    if function in ("==", "in"):
        return Constraint("value", subject, texts, wanted)
    kind = _TEXT_TESTS.get(function)
    return Constraint(kind, subject, texts, wanted) if kind and all(_strings(texts)) else None


def _strings(texts: tuple[object, ...]) -> list[bool]:
    return [isinstance(each, str) for each in texts]


def _number_constraint(
    function: str, subject: Checked, values: list[object], wanted: bool
) -> Constraint | None:
    numbers = [each for each in values if is_number(each) and each == each]
    if len(numbers) != len(values) or not numbers:
        return None
    if function in ("==", "in"):
        options = tuple(_COMPARED["=="](each) for each in numbers)  # type: ignore[arg-type]
        return Constraint("number", subject, options, wanted)
    if function not in _OPPOSITE:
        return None
    if not wanted:
        # NaN compares false with every number, so this only holds for integers.
        if not is_whole(subject):
            return None
        function = _OPPOSITE[function]
    return Constraint("number", subject, (_COMPARED[function](numbers[0]),), True)  # type: ignore[arg-type]
