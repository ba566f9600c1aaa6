"""Reads the keys of entity definitions from events, and judges them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EvaluationError
from tidegate.language.tree.schema import Schema
from tidegate.policy.decide import MISSING
from tidegate.policy.definitions.keys import part_of
from tidegate.policy.traffic.figures import Key, KeyFigures
from tidegate.policy.traffic.findings import (
    KeyFinding,
    findings,
    is_fleeting,
    is_forgeable,
    verdict,
)
from tidegate.policy.traffic.programs import compile_programs, named_actions

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from tidegate.evaluation.envelope import Strictness
    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.keys import Part
    from tidegate.policy.traffic.programs import Programs


@attrs.define
class KeyReader:
    """The key of one definition, built from events like in the engine.

    Attributes:
        blank: whether an empty part counts.
        has_condition: whether a match expression follows the parts among the programs.
        parts: the number of parts.
        figures: the counts so far.
        first: the number of its first program.
    """

    blank: bool
    has_condition: bool
    parts: int
    figures: KeyFigures
    first: int = 0

    def read(self, programs: Programs, prepared: Any) -> Key | None:
        """The key of an event; None if it has none, which is counted."""
        evaluate = programs.rules.evaluate
        if self.has_condition and not _holds(programs, self.first + self.parts, prepared):
            self.figures.not_applicable += 1
            return None
        parts: list[Part] = []
        for at in range(self.parts):
            try:
                value = evaluate(self.first + at, prepared)
                part = value if type(value) is str else part_of(value)
            except EvaluationError as error:
                part = "" if error.code in MISSING else None
            self.figures.see(at, part)
            if part is not None and (part != "" or self.blank):
                parts.append(part)
        if len(parts) < self.parts:
            self.figures.missing += 1
            return None
        return tuple(parts)


def _holds(programs: Programs, at: int, prepared: Any) -> bool:
    try:
        return programs.rules.evaluate(at, prepared) is True
    except EvaluationError:
        return False


@attrs.frozen
class KeyReport:
    """A definition's key in traffic.

    Attributes:
        slug: of the entity definition.
        verdict: one sentence.
        findings: the problems, worst first.
        window_seconds: the widest window of a live policy that counts by it; None without one.
        figures: the counts.
    """

    slug: str
    verdict: str
    findings: tuple[KeyFinding, ...]
    window_seconds: int | float | None
    figures: KeyFigures


class KeyDoctor:
    """Counts the keys of all entity definitions of a set in events.

    Args:
        compiled: the definitions.
        only: the slugs of the definitions that are judged; all by default. The others are counted
            all the same, since keys are judged by what they have in common.
        strictness: which events are rejected.
    """

    def __init__(
        self,
        compiled: CompiledDefinitions,
        only: Iterable[str] = (),
        strictness: Strictness = "any",
    ) -> None:
        self._strictness: Strictness = strictness
        self._compiled = compiled
        self._only = frozenset(only)
        self._readers: dict[str, KeyReader] = {}
        self._pairs: dict[tuple[int, int], set[tuple[int, Hashable]]] = defaultdict(set)
        checked: dict[str, CheckedExpression] = {}
        for entity in compiled.entities:
            first = len(checked)
            given = [*entity.key_fields, *([entity.match] if entity.match is not None else [])]
            checked |= {f"{first + at:06}": each for at, each in enumerate(given)}
            figures = KeyFigures(tuple(each.text for each in entity.key_fields))
            self._readers[entity.slug] = KeyReader(
                entity.on_missing_key == "blank",
                entity.match is not None,
                len(entity.key_fields),
                figures,
                first,
            )
        self._programs = _programs(checked, compiled)

    def see(self, event: bytes, time: int) -> None:
        """Count an event.

        Args:
            event: as JSON.
            time: when it was observed, in nanoseconds since 1970.

        Raises:
            EventError: the event is rejected, and not counted.
        """
        (event,) = self._programs.with_actions([event])
        context = self._programs.rules.prepare(event, self._strictness)
        numbers: list[int | None] = []
        for reader in self._readers.values():
            key = reader.read(self._programs, context)
            number = None if key is None else reader.figures.add(key, time)
            if number is not None:
                for at, other in enumerate(numbers):
                    if other is not None:
                        self._pairs[at, len(numbers)].add((other, number))
            numbers.append(number)

    def reports(self) -> list[KeyReport]:
        """The findings about each definition, in the order of the set."""
        slugs = list(self._readers)
        for (one, other), pairs in self._pairs.items():
            self._readers[slugs[one]].figures.pairs[slugs[other]] = pairs
            reverse = {(after, before) for before, after in pairs}
            self._readers[slugs[other]].figures.pairs[slugs[one]] = reverse  # type: ignore[assignment]
        return [
            self._report(slug, reader)
            for slug, reader in self._readers.items()
            if not self._only or slug in self._only
        ]

    def _report(self, slug: str, reader: KeyReader) -> KeyReport:
        (entity,) = (each for each in self._compiled.entities if each.slug == slug)
        window = self._window(slug)
        found = findings(
            reader.figures,
            on_missing_key=entity.on_missing_key,
            forgeable=is_forgeable(entity.key_fields),
            window=window,
            fleeting=[other for other, each in self._readers.items() if is_fleeting(each.figures)],
        )
        return KeyReport(slug, verdict(reader.figures, found), found, window, reader.figures)

    def _window(self, slug: str) -> int | float | None:
        return max(
            (
                clause.window.duration_seconds
                for policy in self._compiled.policies
                for clause in policy.clauses
                if clause.entity == slug and clause.window is not None
            ),
            default=None,
        )


def _programs(checked: Mapping[str, CheckedExpression], compiled: CompiledDefinitions) -> Programs:
    named = named_actions(checked)
    actions = {each.slug: each.expression for each in compiled.actions if each.slug in named}
    schema = Schema(compiled.fields, compiled.lists)
    return compile_programs(checked, actions, schema, compiled.trusted_proxies)
