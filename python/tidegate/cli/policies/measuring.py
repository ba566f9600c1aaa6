"""Measures how fast definitions decide, and where the work goes."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from itertools import islice
from statistics import median, quantiles
from typing import TYPE_CHECKING

import attrs

from tidegate.cli.inputs.events import read_events
from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate.language.tree.schema import Schema
from tidegate.policy.decide import LATEST
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain.coverage import Coverage
from tidegate.ruleset import RuleSet
from tidegate.values import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.cli.inputs.events import Source
    from tidegate.evaluation.envelope import Strictness
    from tidegate.policy.definitions.model import Definitions

SAMPLE = 500
"""Events from which the engine learns which conditions to search first."""


@attrs.frozen
class Arrival:
    """An event, and when it arrives, in nanoseconds since 1970."""

    event: bytes
    at: int


@attrs.frozen
class Cost:
    """The work of an expression, in units."""

    place: str
    evaluated: int
    units: int


@attrs.frozen
class Figures:
    """The measurements of a document.

    Attributes:
        events_per_second: of the median round.
        rounds: the events per second of each round.
        p50_us: the median time of a decision, in microseconds.
        p99_us: the time that 99 % of the decisions keep, in microseconds.
        keys: entity keys in the state at the end.
        max_keys: most keys that the state keeps.
        state_bytes: the size of a snapshot of the state at the end.
        units: units of work of all expressions, without an index.
        counted: the events of which they were counted.
        costs: the work of each expression, the most expensive first.
        not_indexed: place to reason for the conditions that are evaluated for every event, of
            those that read only the event.
    """

    events_per_second: float
    rounds: tuple[float, ...]
    p50_us: float
    p99_us: float
    keys: int
    max_keys: int
    state_bytes: int
    units: int
    counted: int
    costs: tuple[Cost, ...]
    not_indexed: dict[str, str]


def read_arrivals(source: Source, limit: int) -> tuple[list[Arrival], Counter[str]]:
    """The events to decide on, each at its own time, and the refusals of others by code.

    Args:
        source: the events.
        limit: read at most this number.
    """
    arrivals: list[Arrival] = []
    refused: Counter[str] = Counter()
    at = time.time_ns()
    for line in islice(read_events(source), limit):
        if line.error is not None:
            refused[line.error.code] += 1
            continue
        observed = line.time
        at = at if observed is None else min(max(int(observed * NANOSECONDS), 0), LATEST)
        arrivals.append(Arrival(line.text, at))
    return arrivals, refused


class Measured:
    """A document that decides on the same events again and again.

    Args:
        definitions: the definitions.
        arrivals: the events.
        strictness: which events it decides on.
    """

    def __init__(
        self, definitions: Definitions, arrivals: Sequence[Arrival], strictness: Strictness
    ) -> None:
        self._definitions = definitions
        self._strictness = strictness
        self._arrivals = arrivals
        sample = [each.event for each in arrivals[:: max(1, len(arrivals) // SAMPLE)]]
        self._engine = Engine(definitions, sample=sample, events=strictness)
        self._empty = self._engine.snapshot()
        self._rounds: list[tuple[float, list[int]]] = []

    def run(self) -> float:
        """Decide on all events from an empty state; return the events per second."""
        engine = self._engine
        engine.load_state(self._empty)
        clock, decide = time.perf_counter_ns, engine.decide_json
        times: list[int] = []
        for each in self._arrivals:
            started = clock()
            with suppress(EventError):
                decide(each.event, each.at)
                times.append(clock() - started)
        rate = len(times) * NANOSECONDS / max(sum(times), 1)
        self._rounds.append((rate, times))
        return rate

    @property
    def decided(self) -> int:
        """How many events were decided in a round; the others are refused."""
        return len(self._rounds[0][1])

    def figures(self, counted: int) -> Figures:
        """The figures of all rounds.

        Args:
            counted: the number of events of which units of work are counted.
        """
        rates = [rate for rate, _ in self._rounds]
        middle = median(rates)
        _, times = min(self._rounds, key=lambda found: abs(found[0] - middle))
        percentiles = quantiles(times, n=100) if len(times) > 1 else times * 99
        stats = self._engine.stats()
        costs, events = self._costs(counted)
        return Figures(
            events_per_second=middle,
            rounds=tuple(rates),
            p50_us=percentiles[49] / 1_000,
            p99_us=percentiles[98] / 1_000,
            keys=stats["keys"],
            max_keys=stats["max_keys"],
            state_bytes=len(self._engine.snapshot()),
            units=sum(each.units for each in costs),
            counted=events,
            costs=costs,
            not_indexed=self._not_indexed(),
        )

    def _costs(self, counted: int) -> tuple[tuple[Cost, ...], int]:
        coverage = Coverage(compile_definitions(self._definitions), self._strictness)
        for each in self._arrivals[:counted]:
            with suppress(EventError):
                coverage.decide(each.event, each.at)
        costs = [
            Cost(each.place, each.evaluated, each.cost) for each in coverage.expressions.values()
        ]
        return tuple(sorted(costs, key=lambda cost: -cost.units)), coverage.events

    def _not_indexed(self) -> dict[str, str]:
        compiled = compile_definitions(self._definitions)
        placed = [(f"actions.{each.slug}.expression", each.expression) for each in compiled.actions]
        placed += [each for policy in compiled.policies for each in policy.placed]
        # Whether a search finds an action or an entity's state isn't known of an expression alone.
        texts = {
            place: each.text
            for place, each in placed
            if place.endswith(".expression")
            if not any(name.startswith(("actions.", "entity.")) for name in each.references.fields)
        }
        schema = Schema.default().with_lists(compiled.lists)
        return dict(RuleSet(texts, schema).stats().always)
