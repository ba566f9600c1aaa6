"""Totals of the events that matched."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.records.rows import rows_of
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import traffic as wire_traffic

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.records.kept import Kept
    from tidegate_server.traffic.preview import Seen

SECOND_NS = 1_000_000_000
STEPS = (1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400, 604_800)
"""Possible steps of a timeline, in seconds."""
PREFERRED_STEPS = 60


@attrs.define
class Tally:
    """The counts of a scan.

    Attributes:
        samples: how many of the newest matches are kept.
        with_entities: whether entities are counted.
    """

    samples: int = 0
    with_entities: bool = False
    matched: int = 0
    outcomes: Counter[tuple[str, str | None]] = attrs.field(factory=Counter)
    errors: Counter[str] = attrs.field(factory=Counter)
    _seen_at: list[int] = attrs.field(factory=list)
    _answers: list[str] = attrs.field(factory=list)
    _matched_at: list[int] = attrs.field(factory=list)
    _entities: dict[str, set[UUID]] = attrs.field(factory=lambda: defaultdict(set))
    _sampled: list[Seen] = attrs.field(factory=list)

    def see(self, seen: Seen) -> None:
        """Count an event that was read."""
        entry = seen.recorded.entry
        self._seen_at.append(entry.index.observed_at_ns)
        self._answers.append(entry.index.action)

    def match(self, seen: Seen, answer: str | None = None) -> None:
        """Count an event that matched, with a draft's answer to it."""
        self.matched += 1
        entry = seen.recorded.entry
        self._matched_at.append(entry.index.observed_at_ns)
        self.outcomes[entry.index.action, answer] += 1
        if self.with_entities:
            for each in seen.record.entities:
                self._entities[each.definition].add(each.entity_id)
        if self.samples:
            self._sampled.append(seen)
            if len(self._sampled) > 2 * self.samples:
                self._sampled = self._newest()

    def bounds(self) -> dict[str, Any]:
        """Return the times of the first and the last event that was read."""
        return {
            "since": wire_common.optional_time(min(self._seen_at, default=None)),
            "until": wire_common.optional_time(max(self._seen_at, default=None)),
            "matched": self.matched,
        }

    def counts(self, kept: Kept) -> dict[str, Any]:
        """Return the members of an answer other than its bounds."""
        step, timeline = self._timeline()
        sampled = self._newest()
        lines = {each.recorded.entry.seq: each.recorded.line for each in sampled}
        found = [each.recorded.entry.decision() for each in sampled]
        return {
            "errors": tuple(
                wire_traffic.FailureCount(code=code, count=count)
                for code, count in self.errors.most_common()
            ),
            "entities": tuple(
                wire_traffic.EntityCount(definition=name, count=len(ids))
                for name, ids in sorted(self._entities.items())
            ),
            "outcomes": tuple(
                wire_traffic.OutcomeCount(recorded=recorded, draft=draft, count=count)  # type: ignore[arg-type]
                for (recorded, draft), count in self.outcomes.most_common()
            ),
            "step": step,
            "timeline": timeline,
            "samples": rows_of(found, lines, kept),
        }

    def answers(self) -> dict[str, Any]:
        """Return the answers to the events that were read, by steps of time."""
        step, steps = self._steps()
        length = step * SECOND_NS
        counts: dict[int, Counter[str]] = defaultdict(Counter)
        for at, answer in zip(self._seen_at, self._answers, strict=True):
            counts[at // length][answer] += 1
        return {
            "step": step,
            "timeline": tuple(
                wire_traffic.AnswerStep(
                    start=wire_common.time_text(at * length),
                    total=counts[at].total(),
                    **{name: counts[at][name] for name in ("allow", "challenge", "block")},
                )
                for at in steps
            ),
        }

    def _newest(self) -> list[Seen]:
        by_id = sorted(self._sampled, key=lambda each: each.recorded.entry.name, reverse=True)
        return by_id[: self.samples]

    def _timeline(self) -> tuple[int, tuple[wire_traffic.MatchStep, ...]]:
        """Return the seconds of a step, and the steps, including empty ones between others."""
        step, steps = self._steps()
        length = step * SECOND_NS
        seen = Counter(at // length for at in self._seen_at)
        matched = Counter(at // length for at in self._matched_at)
        return step, tuple(
            wire_traffic.MatchStep(
                start=wire_common.time_text(at * length), looked_at=seen[at], matched=matched[at]
            )
            for at in steps
        )

    def _steps(self) -> tuple[int, range]:
        """Return the seconds of a step, and the numbers of the covered steps since 1970."""
        if not self._seen_at:
            return STEPS[0], range(0)
        first, last = min(self._seen_at), max(self._seen_at)
        enough = (each for each in STEPS if last - first <= each * SECOND_NS * PREFERRED_STEPS)
        step = next(enough, STEPS[-1])
        length = step * SECOND_NS
        # Events may claim to be from long ago, so the number of steps is limited.
        begin = max(first // length, last // length - 4 * PREFERRED_STEPS)
        return step, range(begin, last // length + 1)
