"""The native evaluator; only this module imports the extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import orjson

from tidegate._native import (
    AddressDatabase,
    AddressDatabases,
    Calls,
    PlainForm,
    Redactor,
    RuleSet,
    write_rows,
)
from tidegate._native import Engine as NativeEngine
from tidegate._native import ProofKeys as NativeProofKeys
from tidegate.evaluation.document import Compiled, Document
from tidegate.evaluation.outcome import Failure, Outcome
from tidegate.language.tree.ast import Span
from tidegate.wire_values import from_wire

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tidegate.errors import EventError
    from tidegate.evaluation.document import Programs
    from tidegate.evaluation.envelope import Context

__all__ = [
    "AddressDatabase",
    "AddressDatabases",
    "Block",
    "Calls",
    "NativeEngine",
    "NativeProofKeys",
    "NativeRules",
    "PlainForm",
    "Redactor",
    "write_rows",
]


@attrs.define(eq=False)
class Block:
    """Decisions made together, as ``Calls.decide`` hands them over.

    Attributes:
        answers: the answer to each call; None without a decision.
        failures: the calls whose events were refused, by their number.
        count: the number of decisions.
        first_id: of the first decision, 16 bytes; zeros without any, as the last.
        last_id: of the last decision.
        lines: the decisions as ``tidegate_server.stores.decision_log.lines.LogBlock`` has them.
        index: their index entries, in the form of ``LogBlock`` too.
        actions: endpoint, action, and the number of decisions, without zeros.
        outcomes: id of the policy that answered (empty: none did), reason, action, and the number
            of decisions.
        rule_errors: decisions in which an expression ended in an error.
        over_budget: decisions whose budget ended before all was decided.
        client_problems: why clients that events name have no address, and the number of decisions.
        most_work: units of work of the most expensive decision.
    """

    answers: list[bytes | None]
    failures: list[tuple[int, EventError]]
    count: int
    first_id: bytes
    last_id: bytes
    lines: bytes
    index: bytes
    actions: list[tuple[str, str, int]]
    outcomes: list[tuple[str, str, str, int]]
    rule_errors: int
    over_budget: int
    client_problems: list[tuple[str, int]]
    most_work: int


class NativeRules:
    """A set compiled from its canonical form; behaves like ``ReferenceRules``.

    Raises:
        CanonicalFormError: the data isn't a canonical rule set.
    """

    def __init__(self, data: bytes, sample: Sequence[bytes] = ()) -> None:
        rules = RuleSet(data, sample)
        self._set(Document(Compiled(data, rules.ids)), rules)

    def _set(self, document: Document, rules: RuleSet) -> None:
        self.document = document
        self._rules = rules
        # Saves a call per event: these have the protocol's signatures.
        self.prepare = self._rules.prepare
        self.evaluate = self._rules.evaluate
        self.match = self._rules.match
        self.match_batch = self._rules.match_batch
        self.stats = self._rules.stats

    def __len__(self) -> int:
        return len(self._rules)

    def with_changes(self, programs: Programs, removed: Collection[str]) -> NativeRules:
        """The set with other programs; unchanged parts are shared with this one.

        Raises:
            KeyError: a rule to remove doesn't exist.
        """
        data = orjson.dumps({"programs": [orjson.Fragment(one) for one in programs.values()]})
        rules = self._rules.with_changes(data, list(removed))
        changed = NativeRules.__new__(NativeRules)
        changed._set(self.document.with_changes(programs, removed), rules)
        return changed

    def outcome(self, index: int, context: Context) -> Outcome:
        """The value or failure, and the cost, of one rule.

        Raises:
            EventError: the event is rejected.
        """
        wire, code, span, cost = self._rules.outcome(index, context)
        if code is None:
            return Outcome(from_wire(orjson.loads(wire or b"")), None, cost)
        return Outcome(None, Failure(code, "", None if span is None else Span(*span)), cost)
