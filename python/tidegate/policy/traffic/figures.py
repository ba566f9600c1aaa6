"""Figures for a key: how often its parts are present, and how its keys are distributed."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from tidegate.policy.definitions.keys import Part

Key: TypeAlias = "tuple[Part, ...]"
Other: TypeAlias = "tuple[str, str]"
"""Another entity of an event: the slug of its definition, and its id."""
MAX_TEXT = 200
"""The most characters of a part that are shown."""
SECOND_NS = 1_000_000_000
KEY_BYTES = 231
"""Bytes of a key's state with packed windows (docs/design/state-and-windows.md)."""
HOUR_NS = 3_600 * SECOND_NS
LARGEST = 10


@attrs.frozen(kw_only=True)
class PartFigures:
    """A part of a key, over the events that the definition applies to."""

    expression: str
    fill_rate: float | None
    distinct: int
    failed: int


@attrs.frozen(kw_only=True)
class Group:
    """A key and its events."""

    key: Key
    events: int


@attrs.frozen(kw_only=True)
class Beside:
    """How many entities of another definition a key is seen with, and the reverse."""

    definition: str
    median: int
    p99: int
    reverse_median: int
    reverse_p99: int


@attrs.define
class _Seen:
    """The events of a key: a number for the key, the first and the last time."""

    number: int
    key: Key
    first_ns: int
    last_ns: int
    events: int = 0


@attrs.define
class _Part:
    values: set[str] = attrs.field(factory=set)
    filled: int = 0
    failed: int = 0
    seen: int = 0

    @property
    def fill_rate(self) -> float | None:
        return self.filled / self.seen if self.seen else None


@attrs.define
class KeyFigures:
    """The counts of a key; their size grows with the events that were read.

    Attributes:
        expressions: the expressions of its parts.
        not_applicable: events that the definition doesn't apply to.
        missing: events without a key.
        events: events with a key.
        pairs: the numbers of keys with the entities of another definition in the same events, by
            the slug of that definition.
    """

    expressions: tuple[str, ...]
    not_applicable: int = 0
    missing: int = 0
    events: int = 0
    pairs: dict[str, set[tuple[int, Hashable]]] = attrs.field(factory=lambda: defaultdict(set))
    _parts: list[_Part] = attrs.field(init=False)
    _keys: dict[Any, _Seen] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._parts = [_Part() for _ in self.expressions]

    def see(self, at: int, part: Part | None) -> Part | None:
        """Count a part's value, and return it: "" if it is missing, None for an error."""
        counted = self._parts[at]
        counted.seen += 1
        if part is None:
            counted.failed += 1
        elif part != "":
            counted.filled += 1
            counted.values.add(str(part)[:MAX_TEXT])
        return part

    def add(self, key: Key, at_ns: int, others: Iterable[Other] = ()) -> int:
        """Count an event with a key, and the other entities in it; return the key's number."""
        self.events += 1
        seen = self._keys.get(name := _name(key))
        if seen is None:
            seen = self._keys[name] = _Seen(len(self._keys), key, at_ns, at_ns)
        seen.events += 1
        if at_ns > seen.last_ns:
            seen.last_ns = at_ns
        elif at_ns < seen.first_ns:
            seen.first_ns = at_ns
        for definition, entity_id in others:
            self.pairs[definition].add((seen.number, entity_id))
        return seen.number

    @property
    def fill_rates(self) -> list[float]:
        """Return the fill rates of the parts, if there were events."""
        return [each.fill_rate for each in self._parts if each.fill_rate is not None]

    @property
    def distinct(self) -> int:
        return len(self._keys)

    @property
    def distinct_per_event(self) -> float | None:
        return len(self._keys) / self.events if self.events else None

    @property
    def largest_share(self) -> float | None:
        most = max((each.events for each in self._keys.values()), default=0)
        return most / self.events if self.events else None

    @property
    def life_seconds(self) -> float | None:
        """Return the median lifetime of the keys with two events or more."""
        lives = [each.last_ns - each.first_ns for each in self._keys.values() if each.events > 1]
        return median(lives) / SECOND_NS if lives else None

    def others_a_key(self, definition: str) -> int:
        """Return the 99th percentile of another definition's entities seen with a key."""
        found = Counter(number for number, _ in self.pairs[definition])
        return _percentile([*found.values()], 99)

    @property
    def definitions_beside(self) -> list[str]:
        """Return slugs of the other definitions with entities in the same events."""
        return sorted(each for each, pairs in self.pairs.items() if pairs)

    def counts(self) -> dict[str, Any]:
        """Return the figures by name."""
        by_size = sorted(self._keys.values(), key=lambda each: (-each.events, str(each.key)))
        return {
            "not_applicable": self.not_applicable,
            "missing": self.missing,
            "parts": tuple(
                PartFigures(
                    expression=text,
                    fill_rate=part.fill_rate,
                    distinct=len(part.values),
                    failed=part.failed,
                )
                for text, part in zip(self.expressions, self._parts, strict=True)
            ),
            "distinct": self.distinct,
            "distinct_per_event": self.distinct_per_event,
            "largest_share": self.largest_share,
            "largest": tuple(
                Group(key=tuple(map(_shown, seen.key)), events=seen.events)
                for seen in by_size[:LARGEST]
            ),
            "newcomers_an_hour": self._newcomers(),
            "beside": tuple(self._beside()),
            "life_seconds": self.life_seconds,
            "memory_bytes": KEY_BYTES * self.distinct,
        }

    def _newcomers(self) -> float | None:
        """Return how many keys an hour are first seen in the newer half of the period."""
        if not self._keys:
            return None
        first = min(each.first_ns for each in self._keys.values())
        last = max(each.last_ns for each in self._keys.values())
        half = (last - first) // 2
        if not half:
            return None
        new = sum(each.first_ns > first + half for each in self._keys.values())
        return new * HOUR_NS / half

    def _beside(self) -> Iterator[Beside]:
        for definition in self.definitions_beside:
            others = [*Counter(number for number, _ in self.pairs[definition]).values()]
            keys = [*Counter(other for _, other in self.pairs[definition]).values()]
            yield Beside(
                definition=definition,
                median=_percentile(others, 50),
                p99=_percentile(others, 99),
                reverse_median=_percentile(keys, 50),
                reverse_p99=_percentile(keys, 99),
            )


def _name(key: Key) -> Any:
    """A key as the name of a group; in Python ``True`` equals 1, so its kind is a part of it."""
    for part in key:
        if type(part) is not str:
            return tuple((type(each), each) for each in key)
    return key


def _shown(part: Part) -> Part:
    return part[:MAX_TEXT] if isinstance(part, str) else part


def _percentile(values: Sequence[int], percent: int) -> int:
    """Return the least value that ``percent`` percent of the values don't exceed; 0 for none."""
    if not values:
        return 0
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]
