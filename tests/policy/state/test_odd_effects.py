"""Effects that no engine would write: both evaluators read them alike, or refuse them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import orjson
import pytest
from building import ADDRESS, BLOCK, START, WATCH, Build, policy

from tidegate.errors import EffectsError
from tidegate_server.engines.serving import TenantEngine

SECOND = 1_000_000_000
TWO = {"duration_seconds": 60, "threshold": 2}
PATHS = {**TWO, "measure": "distinct", "field": "request.path"}
ACCOUNT = {"name": "Account", "key_fields": ['fields["id"]', 'int(fields["n"])']}
POLICIES = (
    policy(
        {"entity": "address", "mitigation": "refuse", "window": TWO, "name": "twice"},
        {"entity": "account", "mitigation": "refuse", "window": TWO, "name": "account"},
        {"entity": "address", "mitigation": "refuse", "window": PATHS, "name": "paths"},
        {"entity": "address", "mitigation": "refuse", "name": "all"},
        {"entity": "address", "mitigation": "watch", "window": TWO, "name": "watched"},
        name="Guessing",
    ),
)
SLUGS = ("address", "account", "unknown", "", "12345678901234567890", "Address", "\x00")
PARTS: tuple[Any, ...] = (
    "192.0.2.1", "", "\u2028", 0, -1, 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), True, False,
)  # fmt: skip
CLAUSES = (
    ("guessing", "twice"), ("guessing", "paths"), ("guessing", "all"), ("guessing", "account"),
    ("guessing", "watched"), ("guessing", "unknown"), ("unknown", "twice"), ("", ""),
)  # fmt: skip
WRONG = (
    "null", "true", "0", "-0", "1.0", "1e2", "1e999", "-1e999", "12345678901234567890",
    "123456789012345678901234567890", "18446744073709551616", "-9223372036854775809", '""', '"x"',
    '"\\u0000"', "[]", "[[]]", "[null]", "{}", '{"a":1}', '"event"', '"01"', '"-1"', '"+1"',
    '"9223372036854775807"', '"9223372036854775808"', '"12345678901234567890"', '"\u0661"',
    '"192.0.2.0/24"', '"00000000-0000-0000-0000-000000000000"', '{"revoke":1,"b":2,"c":3,"d":4}',
)  # fmt: skip
"""Values that stand in the wrong place in almost every place."""


def engine_of(build: Build) -> TenantEngine:
    return build(entities=[ADDRESS, ACCOUNT], mitigations=[BLOCK, WATCH], policies=list(POLICIES))


class Odd:
    """Makes effects from a seed: sound ones, then one or two parts of them changed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def time(self) -> str:
        """A time as effects have it."""
        near = START + self.random.randrange(-120, 240) * SECOND
        return str(self.random.choice((near, near, near, 0, 2**63 - 1)))

    def key(self) -> list[Any]:
        """A key, often of the right number of parts."""
        return [self.random.choice(PARTS) for _ in range(self.random.choice((1, 1, 2, 2, 0, 3)))]

    def clauses(self, last: Callable[[], Any] | None = None) -> list[list[Any]]:
        """Clauses, some of them twice."""
        made = [list(self.random.choice(CLAUSES)) for _ in range(self.random.randrange(4))]
        return [[*each, last()] for each in made] if last else made

    def value(self) -> str | None:
        """A value that a window counts."""
        return self.random.choice((None, None, "/1", "/2", ""))

    def entry(self, kinds: tuple[str, ...]) -> list[Any]:
        """One entry."""
        kind = self.random.choice(kinds)
        if kind in ("revoke", "move"):
            entry = [kind, f"0190a5c4-0000-7000-8000-00000000000{self.random.randrange(3)}"]
            entry += [self.time(), self.time()]
            networks = (None, "192.0.2.0/24", "2001:db8::/48", "::/48", "192.0.2.1/24")
            return [*entry, self.random.choice(networks)] if kind == "move" else entry
        about = [kind, self.random.choice(SLUGS), self.key(), self.time()]
        if kind == "lift":
            return [*about, self.clauses()]
        if kind == "mitigate":
            return [*about, self.clauses(self.time)]
        return [*about, self.clauses(self.value), self.clauses(self.time)]

    def effects(self, kinds: tuple[str, ...]) -> bytes:
        """The effects of a decision, as JSON."""
        entries = [self.entry(kinds) for _ in range(self.random.randrange(1, 4))]
        if self.random.random() < 0.3:
            entries.append(self.random.choice(entries))
        text = orjson.dumps(entries).decode()
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2))):
            text = self.damaged(text)
        return text.encode()

    def damaged(self, text: str) -> str:
        """The text with one part missing, twice or replaced."""
        places = [at for at, each in enumerate(text) if each in ',[]{}"']
        start = self.random.choice(places or [0])
        end = min(len(text), start + self.random.choice((0, 1, 1, self.random.randrange(1, 30))))
        part = self.random.choice(
            (*WRONG, f",{self.random.choice(WRONG)}", "", text[start:end] * 2)
        )
        return text[:start] + part + text[end:]


def outcome(engine: TenantEngine, do: Callable[[TenantEngine], bytes | None]) -> Any:
    """The outcome of effects: what was counted, or a refusal; and the state."""
    try:
        done: Any = do(engine)
        done = done if done is None else orjson.loads(done)
    except EffectsError as error:
        done = ("refused", error.position)
    return done, orjson.loads(engine.snapshot())


@pytest.mark.parametrize("seed", range(12))
def test_odd_effects_mean_the_same_to_both_evaluators(
    seed: int,
) -> None:
    """Entities and clauses that come twice, unknown names, numbers out of range, missing and wrong
    members: both evaluators refuse the same, and have the same state afterwards."""
    odd = Odd(seed)
    for number in range(60):
        one, other = (engine_of(Build(each)) for each in ("native", "reference"))
        for _ in range(4):
            now = START + odd.random.randrange(0, 200) * SECOND
            if odd.random.random() < 0.5:
                sent = odd.effects(("event", "event", "event", "event", "late", "mitigate", "lift"))
                do = partial(TenantEngine.count_late, effects=sent, now=now)
            else:
                sent = odd.effects(("event", "event", "late", "mitigate", "lift", "revoke", "move"))
                do = partial(TenantEngine.apply_effects, effects=[sent])
            done = [outcome(each, do) for each in (one, other)]
            assert done[0] == done[1], (seed, number, sent)
