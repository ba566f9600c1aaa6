"""The values of the language: their kinds, equality, order, and external forms.

Inside an evaluation a value is one of

    kind       Python type
    null       None
    bool       bool
    int        int, within 64 bits
    uint       UInt
    double     float
    string     str
    bytes      bytes
    list       list
    map        Map
    timestamp  Timestamp
    duration   Duration
    type       TypeName
    optional   OptionalValue
    ip         ipaddress.IPv4Address, IPv6Address
    cidr       ipaddress.IPv4Interface, IPv6Interface (host bits are kept)

``from_python`` and ``to_python`` convert to and from ordinary Python objects, ``from_wire`` and
``to_wire`` to and from the VALUE form of docs/canonical-tree.md.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, TypeAlias

import attrs

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
UINT_MAX = 2**64 - 1
NANOSECONDS = 1_000_000_000
TIMESTAMP_MIN = -62_135_596_800 * NANOSECONDS
TIMESTAMP_MAX = 253_402_300_800 * NANOSECONDS - 1
"""0001-01-01T00:00:00Z up to the last nanosecond of the year 9999."""

MAX_PARTS = 1_000_000
"""Most parts of a converted value.  A value may contain the same list many times, so its written
form can be far larger than its memory."""

MAX_DEPTH = 200
"""Deepest converted value; far more than an expression or event can nest."""

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Interface | ipaddress.IPv6Interface
Charge: TypeAlias = Callable[[int], None]


class UInt(int):
    """An unsigned 64-bit integer; a subclass of ``int`` so that the two don't mix unnoticed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"UInt({int(self)})"

    def __str__(self) -> str:
        return int.__repr__(self)


@attrs.frozen(order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970-01-01T00:00:00Z."""

    nanoseconds: int

    @classmethod
    def from_datetime(cls, moment: datetime) -> Timestamp:
        """The same moment; ``moment`` must carry its offset from UTC.

        Raises:
            ValueError: ``moment`` is naive.
        """
        if moment.utcoffset() is None:
            raise ValueError("a datetime needs a time zone to be a timestamp")
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return cls(_timedelta_nanoseconds(since))

    def to_datetime(self) -> datetime:
        """The moment in UTC, rounded down to the microsecond."""
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        return epoch + timedelta(microseconds=self.nanoseconds // 1000)


@attrs.frozen(order=True)
class Duration:
    """A length of time in nanoseconds; may be negative."""

    nanoseconds: int

    def to_timedelta(self) -> timedelta:
        """The same length, rounded down to the microsecond."""
        return timedelta(microseconds=self.nanoseconds // 1000)


@attrs.frozen
class TypeName:
    """A type as a value, by its name: ``int``, ``google.protobuf.Timestamp``, ``net.IP``."""

    name: str


class _Absent(Enum):
    """An enum, since a copy of its member is the member itself."""

    ABSENT = "absent"


_ABSENT: Any = _Absent.ABSENT


@attrs.frozen(eq=False, repr=False)
class OptionalValue:
    """A value that may be absent; ``OptionalValue()`` is the empty one."""

    _content: Any = _ABSENT

    @property
    def is_present(self) -> bool:
        return self._content is not _ABSENT

    @property
    def content(self) -> Any:
        """The value inside.

        Raises:
            ValueError: the optional is empty.
        """
        if self._content is _ABSENT:
            raise ValueError("the optional is empty")
        return self._content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptionalValue) and equal(self, other)

    def __hash__(self) -> int:
        return hash((OptionalValue, self.is_present))

    def __repr__(self) -> str:
        return f"OptionalValue({self._content!r})" if self.is_present else "OptionalValue()"


MapKey: TypeAlias = tuple[str, object]


def map_key(key: object) -> MapKey | None:
    """The identity of a map key; None for a value that cannot be one.

    Integers are equal whatever their kind, a double with an integral value equals that integer, and
    ``true`` is never ``1``.
    """
    if isinstance(key, bool):
        return ("bool", key)
    if isinstance(key, int):
        return ("number", int(key))
    if isinstance(key, float):
        return ("number", int(key)) if key.is_integer() else None
    return ("string", key) if isinstance(key, str) else None


class Map(Mapping[Any, Any]):
    """A map of the language: entries in order, keys compared as the language compares them.

    Python treats ``True`` and ``1`` as one key, the language does not.  ``total`` maps return
    ``""`` for an absent key in ``select`` and ``index``; the evaluator implements that, and this
    class only carries the flag.
    """

    __slots__ = ("_entries", "total")

    def __init__(self, entries: Iterable[tuple[Any, Any]] = (), *, total: bool = False) -> None:
        """
        Raises:
            ValueError: a key is repeated.
            TypeError: a key isn't a bool, int, uint or string.
        """
        self._entries: dict[MapKey, tuple[Any, Any]] = {}
        self.total = total
        for key, value in entries:
            token = None if isinstance(key, float) else map_key(key)
            if token is None:
                raise TypeError(f"`{kind_of(key)}` cannot be the key of a map")
            if token in self._entries:
                raise ValueError("the map has a repeated key")
            self._entries[token] = (key, value)

    def __getitem__(self, key: Any) -> Any:
        token = map_key(key)
        if token is None or token not in self._entries:
            raise KeyError(key)
        return self._entries[token][1]

    def __contains__(self, key: object) -> bool:
        return map_key(key) in self._entries

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Map({list(self._entries.values())!r}{', total=True' if self.total else ''})"


_KINDS: tuple[tuple[Any, str], ...] = (
    (bool, "bool"), (UInt, "uint"), (int, "int"), (float, "double"), (str, "string"),
    (bytes, "bytes"), (list, "list"), (Map, "map"), (Timestamp, "timestamp"),
    (Duration, "duration"), (TypeName, "type"), (OptionalValue, "optional"),
    # Python's interface is also an address, so check for it first.
    ((ipaddress.IPv4Interface, ipaddress.IPv6Interface), "cidr"),
    ((ipaddress.IPv4Address, ipaddress.IPv6Address), "ip"),
)  # fmt: skip


def kind_of(value: object) -> str:
    """The kind of a value, as in the module's table.

    Raises:
        TypeError: ``value`` is not a value of the language.
    """
    if value is None:
        return "null"
    for python_type, kind in _KINDS:
        if isinstance(value, python_type):
            return kind
    raise TypeError(f"`{type(value).__name__}` is no value of the language")


_TYPE_NAMES = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "optional": "optional_type",
    "ip": "net.IP",
    "cidr": "net.CIDR",
}


def type_of(value: object) -> TypeName:
    """The type of a value as ``type(value)`` returns it, without the types of its parts."""
    kind = kind_of(value)
    return TypeName(_TYPE_NAMES.get(kind, kind))


def is_number(value: object) -> bool:
    """Whether a value is an int, uint or double."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _free(_units: int) -> None:
    """A charge function that costs nothing."""


def equal(left: Any, right: Any, charge: Charge = _free) -> bool:
    """Whether two values are equal according to ``==``.

    Numbers are equal when they are the same real number, whatever their kinds; NaN
    equals nothing; values of different kinds are unequal.  Networks compare with
    their host bits.  ``charge`` gets the units of each comparison before it is made.
    """
    if is_number(left) and is_number(right):
        return bool(left == right)  # Python compares int and float without rounding.
    if isinstance(left, str) and isinstance(right, str):
        charge(min(utf8_length(left), utf8_length(right)) // 16)
        return left == right
    if isinstance(left, bytes) and isinstance(right, bytes):
        charge(min(len(left), len(right)) // 16)
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return _equal_lists(left, right, charge)
    if isinstance(left, Map) and isinstance(right, Map):
        return _equal_maps(left, right, charge)
    if isinstance(left, OptionalValue) and isinstance(right, OptionalValue):
        if not (left.is_present and right.is_present):
            return left.is_present == right.is_present
        return equal(left.content, right.content, charge)
    return kind_of(left) == kind_of(right) and bool(left == right)


def _equal_lists(left: list[Any], right: list[Any], charge: Charge) -> bool:
    if len(left) != len(right):
        return False
    for one, other in zip(left, right, strict=True):
        charge(1)
        if not equal(one, other, charge):
            return False
    return True


def _equal_maps(left: Map, right: Map, charge: Charge) -> bool:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        charge(1)
        if key not in right or not equal(value, right[key], charge):
            return False
    return True


def utf8_length(text: str) -> int:
    """The length of a string in UTF-8."""
    return len(text.encode())


_ORDERED = ("bool", "string", "bytes", "timestamp", "duration")


def compare(left: Any, right: Any) -> int | None:
    """Negative, zero or positive if ``left`` is below, equal to or above ``right``.

    Integers compare exactly. An integer compared with a double counts as the nearest double (ties
    to even), as in published engines, so 2**63 - 1 is not below 2.0**63, though unequal to it.
    Strings compare by code points, bytes by bytes, false before true. None if there isn't an order:
    one is NaN.

    Raises:
        TypeError: values of these kinds have no order.
    """
    if is_number(left) and is_number(right):
        if isinstance(left, float) or isinstance(right, float):
            left, right = float(left), float(right)
    elif kind_of(left) != kind_of(right) or kind_of(left) not in _ORDERED:
        raise TypeError("values of these kinds have no order")
    if left < right:
        return -1
    if left > right:
        return 1
    return 0 if left == right else None


# --- to and from Python -------------------------------------------------------------------


class PartsBudget:
    """Counts the parts of one converted value."""

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def take(self, depth: int) -> None:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"the value has more than {MAX_PARTS} parts")
        if depth > MAX_DEPTH:
            raise ValueError(f"the value nests deeper than {MAX_DEPTH}")


def from_python(value: object) -> Any:
    """Convert a Python object to a value of the language.

    Besides the values themselves it accepts tuples, any Mapping, ``bytearray``, aware ``datetime``,
    ``timedelta``, and the networks of ``ipaddress``.  IPv4-mapped IPv6 addresses become IPv4.

    Raises:
        TypeError: the object, or a part of it, has no such value.
        ValueError: an integer is out of range, a datetime naive, a string not valid text (lone
            surrogates), a timestamp or duration out of range.
    """
    return _from_python(value, 0, PartsBudget())


def _from_python(value: Any, depth: int, budget: PartsBudget) -> Any:
    budget.take(depth)
    if isinstance(value, (list, tuple)):
        return [_from_python(part, depth + 1, budget) for part in value]
    if isinstance(value, Mapping):
        entries = (
            (_from_python(key, depth + 1, budget), _from_python(part, depth + 1, budget))
            for key, part in value.items()
        )
        return Map(entries, total=isinstance(value, Map) and value.total)
    if isinstance(value, OptionalValue):
        if not value.is_present:
            return value
        return OptionalValue(_from_python(value.content, depth + 1, budget))
    return _scalar_from_python(value)


def _scalar_from_python(value: Any) -> Any:
    match value:
        case datetime():
            return in_range(Timestamp.from_datetime(value))
        case timedelta():
            return in_range(Duration(_timedelta_nanoseconds(value)))
        case bytearray() | memoryview():
            return bytes(value)
        case ipaddress.IPv4Network() | ipaddress.IPv6Network():
            return unmapped_network(ipaddress.ip_interface(value.with_prefixlen))
        case ipaddress.IPv4Interface() | ipaddress.IPv6Interface():
            return unmapped_network(value)
        case ipaddress.IPv4Address() | ipaddress.IPv6Address():
            return unmapped(value)
        case _:
            kind_of(value)
            return in_range(value)


def in_range(value: Any) -> Any:
    """The scalar itself, if it is within the bounds of its kind."""
    bounds = {"int": (INT_MIN, INT_MAX), "uint": (0, UINT_MAX)}
    kind = kind_of(value)
    if kind in bounds and not bounds[kind][0] <= value <= bounds[kind][1]:
        raise ValueError(f"{int(value)} is out of the range of {kind}")
    if kind == "timestamp" and not TIMESTAMP_MIN <= value.nanoseconds <= TIMESTAMP_MAX:
        raise ValueError("the timestamp is out of range")
    if kind == "duration" and not INT_MIN <= value.nanoseconds <= INT_MAX:
        raise ValueError("the duration is out of range")
    if kind == "string":
        value.encode()  # raises UnicodeEncodeError, a ValueError, for lone surrogates
    return value


def _timedelta_nanoseconds(length: timedelta) -> int:
    seconds = length.days * 86_400 + length.seconds
    return seconds * NANOSECONDS + length.microseconds * 1000


def unmapped(address: Address) -> Address:
    """The address, as IPv4 if it is an IPv4-mapped IPv6 address.

    Raises:
        ValueError: the address has a zone.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return address
    _require_no_zone(address)
    return address.ipv4_mapped or address


def _require_no_zone(address: ipaddress.IPv6Address) -> None:
    if address.scope_id is not None:
        raise ValueError("the address has a zone")


def unmapped_network(network: Network) -> Network:
    """The network, as IPv4 if it is a mapped one of at least 96 bits.

    Raises:
        ValueError: its address has a zone.
    """
    if isinstance(network, ipaddress.IPv4Interface):
        return network
    _require_no_zone(network)
    mapped = network.ip.ipv4_mapped
    if mapped is not None and network.network.prefixlen >= 96:
        return ipaddress.IPv4Interface((mapped, network.network.prefixlen - 96))
    return network


def to_python(value: Any) -> Any:
    """Convert a value of the language to an ordinary Python object.

    Lists stay lists, maps become dicts (a Map with keys that a dict would merge stays a Map, which
    is a Mapping).  UInt, Timestamp, Duration, TypeName, OptionalValue and the ``ipaddress`` objects
    are returned unchanged.

    Raises:
        ValueError: written out, the value has more than ``MAX_PARTS`` parts.
    """
    return _to_python(value, 0, PartsBudget())


def _to_python(value: Any, depth: int, budget: PartsBudget) -> Any:
    budget.take(depth)
    if isinstance(value, list):
        return [_to_python(part, depth + 1, budget) for part in value]
    if isinstance(value, Map):
        entries = [(key, _to_python(part, depth + 1, budget)) for key, part in value.items()]
        plain = dict(entries)
        return plain if len(plain) == len(entries) else Map(entries)
    if isinstance(value, OptionalValue) and value.is_present:
        return OptionalValue(_to_python(value.content, depth + 1, budget))
    return value
