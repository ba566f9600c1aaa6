"""Events of a file: the values that fields have in them, and the explanation of one."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs
import click

from tidegate.cli.inputs.events import Source, read_events
from tidegate.editing.completion import Completion
from tidegate.engine import Engine
from tidegate.errors import EvaluationError, EventError, ExpressionError, TidegateError
from tidegate.evaluation.secrets.names import Names
from tidegate.language.printer import member_text, to_text
from tidegate.language.tree import ast
from tidegate.program import compile as compile_expression

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.explain.parts import ExpressionExplanation

MAX_EVENTS = 1_000
"""Events that are read, from the beginning of the file."""
MAX_VALUES = 20
MAX_CHARACTERS = 120
"""Longer values aren't offered."""
_MAPS = (
    "fields",
    "request.headers",
    "request.query_params",
    "request.cookies",
    "request.route_params",
)


@attrs.frozen(slots=False)
class Events:
    """The first events of a file, in any format that commands read."""

    lines: tuple[bytes, ...]
    refused: int = 0

    @staticmethod
    def from_file(path: Path) -> Events:
        """Read a file.

        Raises:
            OSError: it can't be read.
            TidegateError: its format is unknown.
        """
        try:
            found = list(islice(read_events(Source(str(path))), MAX_EVENTS))
        except click.ClickException as error:
            raise TidegateError(error.message) from None
        good = tuple(each.text for each in found if each.error is None)
        return Events(good, len(found) - len(good))

    @cached_property
    def captured(self) -> list[Completion]:
        """The names in the maps of events, the most frequent first."""
        made = []
        for field in _MAPS:
            counts = Counter(name for names in self._values(field) for name in names)
            for name, count in counts.most_common(MAX_VALUES):
                made.append((count, field, name))
        made.sort(key=lambda each: (-each[0], each[1], each[2]))
        return [
            Completion(
                label=f"{field}.{name}",
                insert=member_text(field, name),
                type="string",
                kind="field",
                fill_rate=count / len(self.lines),
            )
            for count, field, name in made
        ]

    def values(self, field: str) -> list[tuple[str, int]]:
        """The most frequent texts and numbers of a field: the literal, and how many events have it.

        Secrets aren't among them.
        """
        known = self._literals.get(field)
        if known is None:
            known = self._literals[field] = list(self._found(field))
        return known

    @cached_property
    def _literals(self) -> dict[str, list[tuple[str, int]]]:
        return {}

    def _found(self, field: str) -> Iterator[tuple[str, int]]:
        name = field.rpartition("[")[2].strip("\"']").rpartition(".")[2]
        if Names(()).may_be_secret(name):
            return
        kept = (
            value
            for value in self._values(field)
            if isinstance(value, (str, int)) and not isinstance(value, bool)
        )
        for value, count in Counter(kept).most_common(MAX_VALUES):
            if value != "" and len(str(value)) <= MAX_CHARACTERS:
                literal = (
                    to_text(ast.StringLiteral(value)) if isinstance(value, str) else str(value)
                )
                yield literal, count

    def _values(self, field: str) -> Iterator[Any]:
        try:
            program = compile_expression(field)
        except ExpressionError:
            return
        for line in self.lines:
            try:
                yield program.evaluate(line)
            except (EvaluationError, EventError):
                continue

    def explained(self, compilation: Compilation, number: int) -> Explained | None:
        """The explanation of an event after those before it; None if it isn't among them.

        Args:
            compilation: the definitions.
            number: of the event, from 1; 0 is the last one.
        """
        at = (number or len(self.lines)) - 1
        if not 0 <= at < len(self.lines):
            return None
        engine = Engine(compilation.compiled.source, events="lenient")
        for line in self.lines[:at]:
            try:
                engine.decide(line)
            except EventError:
                continue
        try:
            found = engine.explain(self.lines[at])
        except EventError:
            return None
        expressions: dict[str, ExpressionExplanation] = {}
        source = compilation.compiled.source
        for position, action in enumerate(source.actions):
            shown = next((each for each in found.actions if each.slug == action.slug), None)
            expression = None if shown is None else shown.expression
            _add(expressions, f"/actions/{position}/expression", expression)
        slugs = {each.slug: position for position, each in enumerate(source.policies)}
        for policy in found.policies:
            pointer = f"/policies/{slugs[policy.slug]}"
            _add(expressions, f"{pointer}/expression", policy.scope)
            for position, clause in enumerate(policy.clauses):
                place = f"{pointer}/clauses/{position}"
                _add(expressions, f"{place}/expression", clause.condition)
                field = None if clause.window is None else clause.window.field
                _add(expressions, f"{place}/window/field", field)
        return Explained(at + 1, expressions)


@attrs.frozen
class Explained:
    """One event explained: its number, and its expressions by pointer."""

    number: int
    expressions: dict[str, ExpressionExplanation]


def _add(
    found: dict[str, ExpressionExplanation], pointer: str, each: ExpressionExplanation | None
) -> None:
    if each is not None:
        found[pointer] = each
