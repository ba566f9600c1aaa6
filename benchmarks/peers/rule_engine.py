"""``rule-engine``: rules over Python objects, in Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import rule_engine

from benchmarks.peers.adapter import OneByOne, RefusedError
from benchmarks.traffic.translation import Translator, UntranslatableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.traffic.workload import Event, Rule


class ToRuleEngine(Translator):
    """``path.starts_with("/api/") and ...``"""

    templates: ClassVar[dict[str, str]] = {
        "and": "and",
        "or": "or",
        "not": "(not {operand})",
        "eq": "{subject} == {text}",
        "contains": "{text} in {subject}",
        "starts": "{subject}.starts_with({text})",
        "ends": "{subject}.ends_with({text})",
        "in": "{subject} in [{texts}]",
        "has": "({key} in {map})",
    }
    guards_keys = True

    def map(self, name: str) -> str:
        return name

    def member(self, name: str) -> str:
        return name

    def value(self, name: str, key: str) -> str:
        return f"{self.map(name)}[{self.literal(key)}]"

    def literal(self, text: str) -> str:
        return json.dumps(text)


class RuleEngine(OneByOne):
    """Each rule evaluated one after the other, over the members of a request as names.

    The package copies a nested object each time a rule names it, so a rule that said
    ``request.path`` would pay for the whole request.
    """

    name = "rule-engine"
    distribution = "rule-engine"
    prepares = True

    def compile(self, rule: Rule) -> Callable[[Any], bool]:
        try:
            matches: Callable[[Any], bool] = rule_engine.Rule(
                ToRuleEngine().translate(rule.tree)
            ).matches
        except (rule_engine.EngineError, UntranslatableError) as error:
            raise RefusedError(str(error)) from error

        def holds(event: Any) -> bool:
            try:
                return matches(event)
            except rule_engine.EngineError:
                return False

        return holds

    def prepare(self, event: Event) -> Event:
        return event["request"] | {"fields": event["fields"], "source": event["source"]}


ADAPTER = RuleEngine
