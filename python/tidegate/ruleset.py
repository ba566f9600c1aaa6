"""Many expressions, compiled together and matched against one event at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate import notebook
from tidegate.errors import ExpressionError
from tidegate.evaluation.envelope import PreparedContext
from tidegate.evaluation.rules import (
    Evaluator,
    Rules,
    compile_rules,
    read_rules,
    schema_of,
    to_programs,
)
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tidegate.errors import EventError
    from tidegate.evaluation.matches import Matches
    from tidegate.language.check.checker import CheckedExpression


@attrs.frozen
class Stats:
    """Figures of the index of a rule set."""

    rules: int
    conditions: int
    """Distinct tests that the rules have and a search can answer."""
    shared: int
    """Conditions that more than one rule has."""
    searched: int
    """Conditions that are searched for in an event."""
    indexed: int
    """Rules that are evaluated only when a search found something that they need."""
    always: dict[str, str]
    """Id to reason of the rules that are evaluated on every event."""

    def _repr_html_(self) -> str:
        figures = attrs.asdict(self)
        always = figures.pop("always")
        rows = [(name.replace("_", " "), f"{number:,}") for name, number in figures.items()]
        return notebook.table((), rows) + notebook.table(("evaluated always", ""), always.items())


class RuleSet:
    """Boolean expressions by id, compiled together.

    A search of each event finds the few rules that can be true of it, and only those
    are evaluated; ``match(event, errors=True)`` evaluates them all.

    Args:
        expressions: id to text.
        schema: the fields the texts may read; ``Schema.default()`` when left out.
        evaluator: ``"native"`` or ``"reference"``, which evaluates every rule.
        sample: some events, as JSON, like those to come: the index then knows which
            tests are rare. It changes no answer.

    Raises:
        ExpressionError: some text does not parse, does not check or is no
            bool; its message names each rule, ``diagnostics`` has every finding.
    """

    def __init__(
        self,
        expressions: Mapping[str, str],
        schema: Schema | None = None,
        evaluator: Evaluator = "native",
        *,
        sample: Sequence[bytes] = (),
    ) -> None:
        schema = schema if schema is not None else Schema.default()
        self.evaluator = evaluator
        self._declared: Schema | None = schema
        checked = _check_all(expressions, schema)
        self._rules: Rules = compile_rules(checked, schema, evaluator, sample)

    @classmethod
    def from_canonical(
        cls, data: bytes, evaluator: Evaluator = "native", *, sample: Sequence[bytes] = ()
    ) -> RuleSet:
        """A set from what :meth:`to_canonical` gave: no text is parsed.

        Raises:
            CanonicalFormError: the data is not a canonical rule set.
        """
        made = cls.__new__(cls)
        made.evaluator = evaluator
        made._declared = None
        made._rules = read_rules(data, evaluator, sample)
        return made

    def with_changes(
        self, expressions: Mapping[str, str], *, remove: Collection[str] = ()
    ) -> RuleSet:
        """This set with other rules; this one stays as it is.

        A rule whose id the set has takes its place, others come last, and those to remove
        go first. The new set shares what did not change, so that one rule in ten thousand
        is changed in a few milliseconds, and threads that match this set do not wait:
        swap the two with one assignment when you like. A prepared event belongs to the
        set that prepared it. The set's fields and lists stay; so does what its index
        learnt from its sample. What was changed has an index of its own; when some hundred rules
        have been, a thread in the background makes one index of all, which later changes build on.

        Args:
            expressions: id to text of rules to add or to change.
            remove: ids of rules to remove.

        Raises:
            ExpressionError: some text does not parse, does not check or is no bool.
            KeyError: there is no rule of an id to remove.
        """
        schema = self._schema()
        checked = _check_all(expressions, schema)
        changed = RuleSet.__new__(RuleSet)
        changed.evaluator = self.evaluator
        changed._declared = schema
        changed._rules = self._rules.with_changes(to_programs(checked), remove)
        return changed

    def _schema(self) -> Schema:
        """The schema that the rules were checked against."""
        if self._declared is None:
            self._declared = schema_of(self._rules.document.compiled.head)
        return self._declared

    def to_canonical(self) -> bytes:
        """The set as JSON: fields, lists and the canonical tree of each rule."""
        return self._rules.document.to_json()

    def match(
        self, event: Mapping[str, Any] | bytes | PreparedContext, errors: bool = False
    ) -> Matches:
        """The rules that hold for ``event`` (a dict, JSON bytes, or a prepared event).

        A rule that is an error does not hold; ``errors=True`` also says which
        those are and with what code.

        Raises:
            EventError: the event is refused.
        """
        return self._rules.match(event, errors)

    def match_batch(
        self,
        events: Sequence[Mapping[str, Any] | bytes | PreparedContext],
        errors: bool = False,
    ) -> list[Matches | EventError]:
        """As :meth:`match` for each event, in order.

        Events that are all bytes are matched in one step, without the interpreter: other threads
        run meanwhile.

        Args:
            events: as :meth:`match` takes them.
            errors: the same.

        Returns:
            What :meth:`match` gives for each; an event that is refused has its error in its
            place.
        """
        return self._rules.match_batch(events, errors)

    def prepare(self, event: Mapping[str, Any] | bytes) -> PreparedContext:
        """Encode an event once, to match this set against it many times."""
        return self._rules.prepare(event)

    def stats(self) -> Stats:
        """Figures of the index, and the rules it cannot help."""
        return Stats(**self._rules.stats())

    def __len__(self) -> int:
        return len(self._rules)

    def __repr__(self) -> str:
        return f"<RuleSet of {len(self)} rules, {self.evaluator}>"


def _check_all(expressions: Mapping[str, str], schema: Schema) -> dict[str, CheckedExpression]:
    checked: dict[str, CheckedExpression] = {}
    refused: list[tuple[str, ExpressionError]] = []
    for name, text in expressions.items():
        try:
            checked[name] = check(text, schema, expect=BOOL)
        except ExpressionError as error:
            refused.append((name, error))
    if refused:
        raise ExpressionError(
            [finding for _, error in refused for finding in error.diagnostics],
            "\n".join(f"rule `{name}`: {error}" for name, error in refused),
        )
    return checked
