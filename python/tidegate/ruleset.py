"""Many expressions, compiled together and matched against one event at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import attrs

import tidegate.notebook as notebook
from tidegate.errors import ExpressionError
from tidegate.evaluation.encoder import is_variable
from tidegate.evaluation.envelope import PreparedContext
from tidegate.evaluation.rules import (
    Evaluator,
    Rules,
    compile_rules,
    read_rules,
    schema_of,
    to_programs,
)
from tidegate.frames import table_functions
from tidegate.frames.frame import Frame
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pyarrow

    from tidegate.errors import EventError
    from tidegate.evaluation.matches import Matches
    from tidegate.event_form import Event
    from tidegate.language.check.checker import CheckedExpression


@attrs.frozen
class Stats:
    """Figures about a rule set's index."""

    rules: int
    conditions: int
    """Distinct tests in the rules that a search can answer."""
    shared: int
    """Conditions shared by more than one rule."""
    searched: int
    """Conditions searched for in an event."""
    indexed: int
    """Rules evaluated only if a search found something they need."""
    always: dict[str, str]
    """Id to reason for the rules that are evaluated on every event."""

    def _repr_html_(self) -> str:
        figures = attrs.asdict(self)
        always = figures.pop("always")
        rows = [(name.replace("_", " "), f"{number:,}") for name, number in figures.items()]
        return notebook.table((), rows) + notebook.table(("evaluated always", ""), always.items())


class RuleSet:
    """Boolean expressions by id, compiled together.

    Each event is searched for the few rules that can match it, and only those are evaluated;
    ``match(event, errors=True)`` evaluates them all.

    Args:
        expressions: id to text.
        schema: the fields the texts may read; ``Schema.default()`` if left out.
        evaluator: ``"native"`` or ``"reference"``, which evaluates every rule.
        sample: some events, as JSON, like future ones: they tell the index which tests are rare. It
            changes no results.

    Raises:
        ExpressionError: some text does not parse, does not check or isn't a bool; the message names
            each rule, ``diagnostics`` has every finding.
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
        """A set from the result of :meth:`to_canonical`: no text is parsed.

        Raises:
            CanonicalFormError: the data isn't a canonical rule set.
        """
        made = cls.__new__(cls)
        made.evaluator = evaluator
        made._declared = None
        made._rules = read_rules(data, evaluator, sample)
        return made

    def with_changes(
        self, expressions: Mapping[str, str], *, remove: Collection[str] = ()
    ) -> RuleSet:
        """A copy of this set with changed rules; this one stays as it is.

        A rule with an existing id replaces that rule, new ones come last, and removals are done
        first. The new set shares everything unchanged, so changing one rule in ten thousand takes a
        few milliseconds, and threads that match this set do not wait: swap the two with one
        assignment at any time. A prepared event belongs to the set that prepared it. The fields and
        lists stay; so does what the index learnt from its sample. Changed rules have a separate
        index; once some hundred have changed, a background thread builds one index of all, which
        later changes build on.

        Args:
            expressions: id to text of rules to add or replace.
            remove: ids of rules to remove.

        Raises:
            ExpressionError: some text does not parse, does not check or isn't a bool.
            KeyError: a rule to remove doesn't exist.
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
        self, event: Event | Mapping[str, Any] | bytes | PreparedContext, errors: bool = False
    ) -> Matches:
        """The rules that hold for ``event`` (a dict, JSON bytes, or a prepared event).

        A rule that fails does not match; ``errors=True`` also returns the failed rules and their
        codes.

        Raises:
            EventError: the event is rejected.
        """
        return self._rules.match(event, errors)

    @overload
    def match_batch(
        self,
        events: Sequence[Event | Mapping[str, Any] | bytes | PreparedContext],
        errors: bool = False,
    ) -> list[Matches | EventError]: ...
    @overload
    def match_batch(self, events: Frame, errors: bool = False) -> pyarrow.Table: ...
    def match_batch(
        self,
        events: Sequence[Event | Mapping[str, Any] | bytes | PreparedContext] | Frame,
        errors: bool = False,
    ) -> list[Matches | EventError] | pyarrow.Table:
        """Like :meth:`match` for each event, in order.

        If all events are bytes, they are matched in one step without the interpreter lock, so other
        threads run meanwhile.

        Args:
            events: as for :meth:`match`; or a frame with a row for each event (docs/frames.md).
            errors: as for :meth:`match`.

        Returns:
            The result of :meth:`match` for each; a rejected event has its error in its place.  For
            a frame, a table with a row for each event and the columns ``matched``, a list of ids,
            ``errors`` if they are asked for, a map from id to error code, and ``error``, the text
            of the error of a rejected event.

        Raises:
            EventError: the frame has a column that isn't a member of an event, or of another type.
            ImportError: pyarrow isn't installed.
        """
        if not isinstance(events, Frame):
            return self._rules.match_batch(events, errors)
        fields = self._schema().fields
        return table_functions().match_frame(
            events,
            {name for name, kind in fields.items() if is_variable(name, kind)},
            self.evaluator,
            lambda rows: self._rules.match_batch(rows, errors),
            errors,
        )

    def prepare(self, event: Event | Mapping[str, Any] | bytes) -> PreparedContext:
        """Encode an event once, to match it against this set repeatedly."""
        return self._rules.prepare(event)

    def stats(self) -> Stats:
        """Figures about the index, and the rules it cannot help."""
        return Stats(**self._rules.stats())

    def __reduce__(self) -> tuple[Callable[..., RuleSet], tuple[bytes, Evaluator]]:
        return RuleSet.from_canonical, (self.to_canonical(), self.evaluator)

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
