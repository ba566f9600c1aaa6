"""Events in every form of JSON that is accepted, made from a seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random

DEPTH = 32
"""The deepest that an event may nest; the event itself is depth 1."""

NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "1.50",
    "-0.0",
    "0.0",
    "-0e0",
    "0e999",
    "0E-999",
    "0.0e99999",
    "0e99999999999999999999999",
    "1E+2",
    "1e-5",
    "1e999",
    "-1e999",
    "1e400",
    "1E400",
    "1.0e400",
    "1e309",
    "1e308",
    "1e-323",
    "1e-324",
    "1e-999",
    "-1e-999",
    "1e99999999999",
    "2.2250738585072014e-308",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "4.9e-324",
    "0.1",
    "0.10",
    "0.30000000000000004",
    "100e-2",
    "3.0",
    "9007199254740991",
    "9007199254740993",
    "-9007199254740993",
    "2147483647",
    "2147483648",
    "-2147483649",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999",
    "123456789012345678901234567890",
    "1" * 400,
    "-" + "9" * 310,
    "1" * 5_000,
    "1" + "0" * 400 + "e-400",
    "0." + "0" * 400 + "1e401",
    "1." + "3" * 500,
    "1e1" + "0" * 200,
    "1e-1" + "0" * 200,
]
"""As they are written: the ends of each kind, and what no kind of number holds."""

TEXTS = [
    '""',
    '"a"',
    '"0"',
    '"null"',
    '"true"',
    '"NaN"',
    '"1e999"',
    '"-0"',
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\u2028"',
    '"\u2028"',
    '"\u2029"',
    '"\x7f"',
    '"\x80"',
    '"\\ud83d\\ude00"',
    '"😀"',
    '"\\uD834\\udd1e"',
    '"\U0010ffff"',
    '"\\uffff"',
    '"\ufeff"',
    '"\\ufeffa"',
    '"�"',
    '"\\""',
    '"\\\\"',
    '"\\/"',
    '"/"',
    '"\\b\\f\\n\\r\\t"',
    '"\\u001f"',
    '"\\u007f"',
    '"\u202eevil"',
    '"é"',
    '"é"',
    '"\\u00e9"',
    '"İı"',
    '"ẞ"',
    '"\\\\ud800"',
    '"\\\\u0000"',
    '",\\"event\\":"',
    '"\\",\\"effects\\":["',
    '"],\\"event\\":{}"',
    '"\\n{}"',
    '"{}"',
    '"["',
    '"{\\"a\\":1e999}"',
    '"[1e999]"',
    '"{\\"a\\":1,\\"a\\":2}"',
    '"%00"',
    '"%E2%80%A8"',
    '"\'"',
    '"<script>"',
    '"${x}"',
    '"hmac:"',
    '"..\\/..\\/x"',
    '"a=b&c=d"',
]
"""Strings as they are written."""

ADDRESSES = [
    '"192.0.2.7"',
    '"::1"',
    '""',
    '"\\u0000"',
    '"::ffff:192.0.2.1"',
    '"999.1.1.1"',
    '"2001:db8::1"',
]
PATHS = [
    '"/"',
    '""',
    '"/login"',
    '"/\\u0000"',
    '"/%00"',
    '"/%E2%80%A8"',
    '"/\u2028"',
    '"/a//b/../c"',
    '"/😀"',
    '"/%ff"',
    '"/?a=1e999"',
    '"//"',
    '"*"',
    '"/\\ud83d\\ude00"',
    '"/a%2fb"',
    '"/\\""',
    '"/\\\\"',
    '"/,\\"event\\":"',
]
TIMES = (
    "2026-03-02T00:00:00.397Z",
    "2026-03-02T00:00:00.123456789+14:00",
    "1970-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999999999Z",
    "1700-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "2262-04-11T23:47:16.854775807Z",
    "9999-12-31T23:59:59.999999999Z",
)


class Generator:
    """Makes the texts of events; the same seed makes the same events."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def events(self, count: int) -> Iterator[bytes]:
        """Some events, each as JSON without line feeds."""
        for _ in range(count):
            yield self.event().encode()

    def event(self) -> str:
        """One event."""
        random, members = self.random, dict[str, str]()
        members['"request"'] = self.request()
        if random.random() < 0.8:
            members['"fields"'] = self.fields()
        if random.random() < 0.3:
            members['"source"'] = self.text()
        if random.random() < 0.2:
            members['"observed_at"'] = f'"{random.choice(TIMES)}"'
        if random.random() < 0.2:
            number = random.getrandbits(64)
            members['"idempotency_key"'] = random.choice((f'"{number}"', f'"k\u2028{number}"'))
        for _ in range(random.choice((0, 0, 1, 3))):
            name = self.name()
            if name.strip('"') not in KNOWN:
                members[name] = self.value(2)
        return self.object(list(members.items()))

    def request(self) -> str:
        """The member ``request``."""
        random = self.random
        members = {
            '"path"': random.choice(PATHS),
            '"client_ip"': random.choice(ADDRESSES),
            '"method"': random.choice(('"GET"', '"post"', '""', self.text(), "null")),
            '"user_agent"': random.choice(('"curl/8"', self.text(), "null")),
        }
        for name in ("headers", "query_params", "cookies", "route_params"):
            if random.random() < 0.4:
                members[f'"{name}"'] = self.section()
        if random.random() < 0.4:
            members[f'"x-{self.name()[1:]}'] = self.value(3)
        chosen = [each for each in members.items() if random.random() < 0.9]
        random.shuffle(chosen)
        return self.object(chosen or [('"path"', '"/"')])

    def fields(self) -> str:
        """The member ``fields``, which may have a body."""
        random = self.random
        members = {'"account"': self.scalar(), '"count"': random.choice(NUMBERS)}
        members |= {self.name(): self.entry() for _ in range(random.randrange(4))}
        if random.random() < 0.5:
            text = self.value(3)
            members['"body"'] = text if random.random() < 0.7 else quoted(text)
        return self.object(list(members.items()))

    def section(self) -> str:
        """A map of texts."""
        return self.object([(self.name(), self.entry()) for _ in range(self.random.randrange(5))])

    def entry(self) -> str:
        """A scalar, or several."""
        if self.random.random() < 0.8:
            return self.scalar()
        return f"[{','.join(self.scalar() for _ in range(self.random.randrange(4)))}]"

    def scalar(self) -> str:
        """A text, a number, a bool or null."""
        kinds: tuple[Callable[[], str], ...] = (self.text, self.number, self.text, self.number)
        if self.random.random() < 0.15:
            return self.random.choice(("true", "false", "null"))
        return self.random.choice(kinds)()

    def value(self, depth: int) -> str:
        """Any value that begins at a depth."""
        random = self.random
        if random.random() < 0.05:
            return self.deep(depth)
        if depth > DEPTH or random.random() < 0.5:
            return self.scalar()
        count = random.randrange(4)
        if random.random() < 0.5:
            return f"[{','.join(self.value(depth + 1) for _ in range(count))}]"
        return self.object([(self.name(), self.value(depth + 1)) for _ in range(count)])

    def deep(self, depth: int) -> str:
        """A value that nests as deep as it may."""
        levels = DEPTH - depth + 1
        if self.random.random() < 0.5:
            return "[" * levels + self.scalar() + "]" * levels
        return "".join(f"{{{self.name()}:" for _ in range(levels)) + self.scalar() + "}" * levels

    def number(self) -> str:
        """A number: one of the odd ones, or random digits."""
        random = self.random
        if random.random() < 0.6:
            return random.choice(NUMBERS)
        digits = random.choice(("-", "")) + str(random.getrandbits(random.randrange(1, 80)))
        if random.random() < 0.5:
            digits += f".{random.getrandbits(random.randrange(1, 60)):03}"
        if random.random() < 0.5:
            digits += f"{random.choice('eE')}{random.choice(('', '+', '-'))}{random.randrange(450)}"
        return digits

    def text(self) -> str:
        """A string: one of the odd ones, or random characters, escaped or not."""
        random = self.random
        if random.random() < 0.6:
            return random.choice(TEXTS)
        return quoted(
            "".join(chr(self.code_point()) for _ in range(random.randrange(12))),
            random.choice((True, False)),
        )

    def code_point(self) -> int:
        """A character that is not half of a pair."""
        most = self.random.choice((0x20, 0x80, 0x800, 0x3000, 0xD800, 0x110000))
        found = self.random.randrange(most)
        return found if not 0xD800 <= found <= 0xDFFF else 0xFFFD

    def name(self) -> str:
        """The name of a member."""
        return self.text() if self.random.random() < 0.7 else f'"n{self.random.randrange(100)}"'

    def object(self, members: list[tuple[str, str]]) -> str:
        """An object without a name twice, with space or without."""
        unique = {read(name): (name, value) for name, value in members}
        colon, comma = self.random.choice(((":", ","), (" : ", " ,\t"), (":", ", ")))
        return f"{{{comma.join(f'{name}{colon}{value}' for name, value in unique.values())}}}"


KNOWN = frozenset(
    ("request", "fields", "source", "observed_at", "idempotency_key", "return_url", "tenant_id")
)


def read(text: str) -> str:
    """The string that a text of JSON stands for."""
    return str(json.loads(text))


def quoted(text: str, is_ascii: bool = False) -> str:
    """A string as JSON."""
    return json.dumps(text, ensure_ascii=is_ascii)
