"""Tidegate by its reference evaluator, which is slow on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import tidegate
from benchmarks.peers.adapter import Adapter, Forms, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.traffic.workload import Rule
    from tidegate.evaluation.rules import Evaluator


class TidegateReference(Adapter):
    """Programs for single expressions, a rule set for many."""

    name = "tidegate reference"
    distribution = "tidegate"
    evaluator: ClassVar[Evaluator] = "reference"

    def check(self, rule: Rule) -> None:
        try:
            tidegate.check(rule.expression, tidegate.Schema.default())
        except tidegate.ExpressionError as error:
            raise RefusedError(str(error)) from error

    def expression(self, rule: Rule) -> Forms[bool]:
        program = tidegate.compile(rule.expression, evaluator=self.evaluator)
        return Forms(program.evaluate, program.evaluate, program.prepare, program.evaluate)

    def rule_set(self, rules: Sequence[Rule]) -> Forms[list[str]]:
        compiled = tidegate.RuleSet(
            {rule.rule_id: rule.expression for rule in rules}, evaluator=self.evaluator
        )
        match = compiled.match
        return Forms(
            from_dict=lambda event: match(event).matched,
            from_bytes=lambda text: match(text).matched,
            prepare=compiled.prepare,
            from_prepared=lambda prepared: match(prepared).matched,
        )


ADAPTER = TidegateReference
