"""Figures for a key: how often its parts are present, and how its keys are distributed."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import attrs

from tidegate_server.traffic.facets import MAX_TEXT
from tidegate_server.traffic.tally import SECOND_NS
from tidegate_server.wire import entities as wire_entities

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tidegate.policy.definitions.keys import Part

Key: TypeAlias = "tuple[Part, ...]"
Other: TypeAlias = "tuple[str, str]"
"""Another entity of an event: the slug of its definition, and its id."""
KEY_BYTES = 231
"""Bytes of a key's state with packed windows (docs/design/state-and-windows.md)."""
HOUR_NS = 3_600 * SECOND_NS
LARGEST = 10


@attrs.define
class _Seen:
    """The events of a key: their number, the first and the last time."""

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
    """

    expressions: tuple[str, ...]
    not_applicable: int = 0
    missing: int = 0
    events: int = 0
    _parts: list[_Part] = attrs.field(init=False)
    _keys: dict[Any, _Seen] = attrs.field(factory=dict)
    _others: dict[str, dict[Any, set[str]]] = attrs.field(factory=lambda: defaultdict(dict))
    _keys_of: dict[str, dict[str, set[Any]]] = attrs.field(factory=lambda: defaultdict(dict))

    def __attrs_post_init__(self) -> None:
        self._parts = [_Part() for _ in self.expressions]

    def see(self, at: int, part: Part | None) -> Part | None:
        """Count a part's value, and return it: "" if it is missing, None for an error."""
        counted = self._parts[at]
        counted.seen += 1
        counted.failed += part is None
        if part is not None and part != "":
            counted.filled += 1
            counted.values.add(str(part)[:MAX_TEXT])
        return part

    def add(self, key: Key, at_ns: int, others: Collection[Other]) -> None:
        """Count an event with a key, and the other entities in it."""
        self.events += 1
        # In Python True equals 1.
        name = tuple((type(part), part) for part in key)
        seen = self._keys.setdefault(name, _Seen(at_ns, at_ns))
        seen.events += 1
        seen.first_ns, seen.last_ns = min(seen.first_ns, at_ns), max(seen.last_ns, at_ns)
        for definition, entity_id in others:
            self._others[definition].setdefault(name, set()).add(entity_id)
            self._keys_of[definition].setdefault(entity_id, set()).add(name)

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
        return _percentile([len(each) for each in self._others[definition].values()], 99)

    @property
    def definitions_beside(self) -> list[str]:
        """Return slugs of the other definitions with entities in the same events."""
        return sorted(self._others)

    def counts(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """Return the members of an answer.

        Args:
            ids: the tenant's entity definitions, by slug.
        """
        by_size = sorted(self._keys.items(), key=lambda each: (-each[1].events, str(each[0])))
        return {
            "not_applicable": self.not_applicable,
            "missing": self.missing,
            "parts": tuple(
                wire_entities.KeyPartHealth(
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
                wire_entities.KeyGroup(
                    key=tuple(_shown(part) for _, part in name), events=seen.events
                )
                for name, seen in by_size[:LARGEST]
            ),
            "newcomers_an_hour": self._newcomers(),
            "beside": tuple(self._beside(ids)),
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

    def _beside(self, ids: Mapping[str, str]) -> Sequence[wire_entities.KeyBeside]:
        found = []
        for definition in self.definitions_beside:
            if definition not in ids:
                continue
            others = [len(each) for each in self._others[definition].values()]
            keys = [len(each) for each in self._keys_of[definition].values()]
            found.append(
                wire_entities.KeyBeside(
                    entity_definition_id=UUID(ids[definition]),
                    definition=definition,
                    median=_percentile(others, 50),
                    p99=_percentile(others, 99),
                    reverse_median=_percentile(keys, 50),
                    reverse_p99=_percentile(keys, 99),
                )
            )
        return found


def _shown(part: Part) -> Part:
    return part[:MAX_TEXT] if isinstance(part, str) else part


def _percentile(values: Sequence[int], percent: int) -> int:
    """Return the least value that ``percent`` percent of the values don't exceed; 0 for none."""
    if not values:
        return 0
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]
