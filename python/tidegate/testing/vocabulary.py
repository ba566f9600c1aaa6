"""The words shared by generated programs and events, so that events match the literals.

Each type of the language has a small pool of values: ordinary ones first, then edge cases such as
limits of ranges, look-alike letters, control characters, and text that only looks like something
else.
"""

from __future__ import annotations

import math
import struct
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING, Any

from tidegate.testing.choices import happens, pick
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
from tidegate.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    Map,
    OptionalValue,
    Timestamp,
    TypeName,
    UInt,
    unmapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.testing.choices import Choices

WORDS = (
    "a", "", "b", "abc", "GET", "POST", "/", "/api/v1/users", "/admin/", "index.php", "x-token",
    "host", "accept", "ok", "1", "0", "-7", "1.5", "true", "10.0.0.1", "192.0.2.7", "2001:db8::1",
    "10.0.0.0/8", "2001:db8::/32", "a,b,,c", "q=1&r=%20", "%2e%2e%2Fetc", "%252e", "a+b", "ABC",
    "é", "ß", "ſ", "K", "\u212a", "İ", "😀", "e\u0301", "\x00", "\r\n", "\u202e", "\ufeff", "'",
    '"', "\\", "<script>", "' or 1=1--", "${7*7}", "Mozilla/5.0 (X11; Linux x86_64)", "a" * 70,
    "ab" * 400, "1e5", "+1", " 1", "0x10", "1_000", "NaN", "-inf", "9223372036854775808", "٣", "-0",
    "True", "t", "2026-02-29T00:00:00Z", "2026-03-29T01:30:00.5+02:00", "2026-03-29t01:30:00z",
    "1h30m", "-1.5s", "1us", "5", "YQ==", "YQ", "_-8=", "10.0.0.01", "::FFFF:c000:0207", "fe80::1%",
    "%s %d", "a/b//c/", "/..", "%c3%a9%ff", "a*", "\\*", "\t x\u00a0", "ǆ", "ΑΣ", "\U0010ffff",
)  # fmt: skip
PATTERNS = (
    "a", "^/api/", "[a-z]+", "(?i)get|post", r"\d+", "(a|b)*c", "^$", r"\w+@\w+\.com", "(?i)k",
    "x*", "[^/]+$", r"\.php$", "(?s)a.b", "a{2,3}", "é|ß", r"\bok\b", "([a-z]+)=", r"(\d)+",
    "(|a)+", "(?U)a+", "[[:alpha:]]", r"\pL", "^(?:GET|POST)$", "a??b?",
)  # fmt: skip
"""No pattern has more than one group, since ``regex.extract`` rejects those."""
GLOBS = ("*", "a*", "*.php", "/api/*/users", "", r"\*", "*a*b*", "GET", "é*")
ZONES = ("UTC", "Europe/Amsterdam", "America/New_York", "+05:30", "-02:00", "Asia/Kathmandu")
ADDRESSES = (
    "10.0.0.1", "192.0.2.7", "127.0.0.1", "255.255.255.255", "172.16.0.1", "2001:db8::1", "::1",
    "::",    "fe80::1", "fc00::7", "::ffff:c000:207", "224.0.0.1", "ff02::1", "169.254.1.1",
)  # fmt: skip
NETWORKS = (
    "10.0.0.0/8", "192.0.2.0/24", "0.0.0.0/0", "10.0.0.1/32", "192.0.2.7/24", "2001:db8::/32",
    "::/0", "fc00::/7", "::ffff:c000:200/120", "2001:db8::1/128",
)  # fmt: skip
LISTS: Mapping[str, tuple[str, ...]] = {
    "blocked": ("10.0.0.0/8", "192.0.2.7", "2001:db8::/32"),
    "words": ("a", "abc", "GET", "é", ""),
}
"""The named lists of generated schemas."""

_INTS = (0, 1, 2, -1, 3, 7, 16, 64, 100, -7, 255, 2**31, 2**53, 2**53 + 1, INT_MAX, INT_MIN)
_UINTS = (0, 1, 2, 3, 7, 64, 2**53 + 1, INT_MAX + 1, UINT_MAX)
_DOUBLES = (
    0.0, 1.0, 1.5, -1.0, 2.0, 0.1, -0.0, 2.5, 1e308, 5e-324, 2.0**53, 2.0**63, 1e100, math.nan,
    math.inf, -math.inf,
)  # fmt: skip
_SECOND = 1_000_000_000
_TIMESTAMPS = (
    0, 1_772_409_600 * _SECOND, 1_772_409_600 * _SECOND + 1, 951_782_400 * _SECOND, -1,
    -62_135_596_800 * _SECOND, 253_402_300_799 * _SECOND + 999_999_999, 1_774_746_000 * _SECOND,
)  # fmt: skip
_DURATIONS = (0, _SECOND, 60 * _SECOND, -1, 90_061_001_000_000, 3600 * _SECOND, INT_MAX, INT_MIN)

_SCALARS: Mapping[Type, tuple[Any, ...]] = {
    BOOL: (True, False),
    INT: _INTS,
    UINT: tuple(map(UInt, _UINTS)),
    DOUBLE: _DOUBLES,
    STRING: WORDS,
    BYTES: (b"", b"a", b"abc", b"\x00\xff", "é".encode(), b"a" * 33),
    NULL: (None,),
    TIMESTAMP: tuple(map(Timestamp, _TIMESTAMPS)),
    DURATION: tuple(map(Duration, _DURATIONS)),
    TYPE: tuple(map(TypeName, ("int", "string", "bool", "list", "map", "null_type", "net.IP"))),
    IP: tuple(map(ip_address, (each for each in ADDRESSES if not each.startswith("::ffff")))),
    CIDR: tuple(map(ip_interface, (each for each in NETWORKS if not each.startswith("::ffff")))),
}
SCALAR_TYPES = (BOOL, INT, STRING, UINT, DOUBLE, BYTES, NULL, TIMESTAMP, DURATION, TYPE, IP, CIDR)
KEY_TYPES = (STRING, INT, BOOL, UINT)


def scalar(choices: Choices, kind: Type) -> Any:
    """A value of a type without parameters: mostly from the pool, else any at all."""
    make = _MAKERS.get(kind)
    return make(choices) if make and happens(choices, 15) else pick(choices, _SCALARS[kind])


def _any_text(choices: Choices) -> str:
    return "".join(pick(choices, _ALPHABET) for _ in range(choices.below(12)))


def _any_int(choices: Choices) -> int:
    width = 1 + choices.below(63)
    return choices.below(2**width) - choices.below(2**width)


def _any_double(choices: Choices) -> float:
    """Any bits, or a few digits at some scale, which are hard to format."""
    if happens(choices, 50):
        bits = b"".join(choices.below(256).to_bytes() for _ in range(8))
        return float(struct.unpack("<d", bits)[0])
    if choices.below(8) == 0:
        return choices.below(2**53) / 4  # its decimal may be as near as the next one
    return float(f"{choices.below(100_000)}e{choices.below(30) - 15}")


def _any_moment(choices: Choices) -> Timestamp:
    seconds = choices.below(315_537_897_600) - 62_135_596_800
    return Timestamp(seconds * _SECOND + choices.below(_SECOND))


_ALPHABET = "abcXYZ019 /.,:;=&?%+-_*\\'\"()[]{}<>|^$#@!~`\n\t\x00éßſKİı€😀\u0301\u200d\ufeff"
_MAKERS: Mapping[Type, Callable[[Choices], Any]] = {
    STRING: _any_text,
    INT: _any_int,
    UINT: lambda choices: UInt(choices.below(2 ** (1 + choices.below(63)))),
    DOUBLE: _any_double,
    BYTES: lambda choices: bytes(choices.below(256) for _ in range(choices.below(9))),
    TIMESTAMP: _any_moment,
    DURATION: lambda choices: Duration(_any_int(choices)),
    IP: lambda choices: unmapped(ip_address(choices.below(2**32) << (96 * choices.below(2)))),
}


def value(choices: Choices, kind: Type, depth: int = 2) -> Any:
    """A value of the language of any type; a ``dyn`` may be anything."""
    match kind:
        case ListType(element=element):
            return [value(choices, element, depth - 1) for _ in range(choices.below(5))]
        case MapType(key=key, value=content):
            return _map(choices, key, content, depth)
        case OptionalType(value=content):
            if happens(choices, 30):
                return OptionalValue()
            return OptionalValue(value(choices, content, depth - 1))
        case _ if kind is DYN:
            return value(choices, any_type(choices, depth), depth - 1)
        case _:
            return scalar(choices, kind)


def _map(choices: Choices, key: Type, content: Type, depth: int) -> Map:
    keys = {}
    for _ in range(choices.below(4)):
        made = scalar(choices, key if key in _SCALARS else pick(choices, KEY_TYPES))
        keys[str(made)] = made
    return Map((each, value(choices, content, depth - 1)) for each in keys.values())


def any_type(choices: Choices, depth: int = 2) -> Type:
    """A type of values; with depth, occasionally one with parameters."""
    if depth <= 0 or not happens(choices, 30):
        return pick(choices, SCALAR_TYPES)
    inner = any_type(choices, depth - 1)
    match choices.below(4):
        case 0 | 1:
            return ListType(inner)
        case 2:
            return MapType(pick(choices, KEY_TYPES), inner)
        case _:
            return OptionalType(inner)


def literal(content: Any) -> str:
    """The text of a scalar value in the language.

    Raises:
        TypeError: the value isn't a scalar.
    """
    match content:
        case None:
            return "null"
        case bool():
            return "true" if content else "false"
        case UInt():
            return f"{content}u"
        case int() | TypeName():
            return str(content) if isinstance(content, int) else content.name
        case float():
            return _double_literal(content)
        case str():
            return string_literal(content)
        case bytes():
            return 'b"' + "".join(f"\\x{byte:02x}" for byte in content) + '"'
        case Timestamp():
            return f"timestamp({string_literal(timestamp_text(content))})"
        case Duration():
            return f"duration({string_literal(duration_text(content))})"
    return _address_literal(content)


def _double_literal(number: float) -> str:
    if math.isfinite(number):
        return repr(number)
    return f'double("{"NaN" if math.isnan(number) else "-" * (number < 0) + "Infinity"}")'


def _address_literal(content: Any) -> str:
    text = str(content)
    return f"cidr({string_literal(text)})" if "/" in text else f"ip({string_literal(text)})"


def string_literal(text: str) -> str:
    """A double-quoted literal, with unprintable characters escaped."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def timestamp_text(moment: Timestamp) -> str:
    """RFC 3339 in UTC, with nanoseconds."""
    fraction = moment.nanoseconds % _SECOND
    seconds = moment.to_datetime().replace(microsecond=0)
    tail = f".{fraction:09}" if fraction else ""
    return f"{seconds.year:04}-{seconds:%m-%dT%H:%M:%S}{tail}Z"


def duration_text(length: Duration) -> str:
    """Whole nanoseconds, the one unit that can express every duration."""
    return f"{length.nanoseconds}ns"
