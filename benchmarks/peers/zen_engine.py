"""``zen-engine``: compiled expressions alone, a decision table for a set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import orjson
import zen

from benchmarks.peers.adapter import Adapter, Forms, RefusedError
from benchmarks.traffic.translation import Translator, UntranslatableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.traffic.workload import Event, Rule


class ToZen(Translator):
    """``startsWith(request.path, "/api/") and ...``"""

    templates: ClassVar[dict[str, str]] = {
        "and": "and",
        "or": "or",
        "not": "(not ({operand}))",
        "eq": "{subject} == {text}",
        "contains": "contains({subject}, {text})",
        "starts": "startsWith({subject}, {text})",
        "ends": "endsWith({subject}, {text})",
        "in": "{subject} in [{texts}]",
        "has": "({key} in keys({map}))",
    }

    def map(self, name: str) -> str:
        return name if name == "fields" else f"request.{name}"

    def member(self, name: str) -> str:
        return name if name == "source" else f"request.{name}"

    def value(self, name: str, key: str) -> str:
        return f'({self.map(name)}[{self.literal(key)}] ?? "")'

    def literal(self, text: str) -> str:
        for quote in "\"'":
            if quote not in text:
                return f"{quote}{text}{quote}"
        raise UntranslatableError("a string has no escapes and holds both quotes")


class Zen(Adapter):
    """A table with the hit policy `collect` has one row a rule and runs in one call."""

    name = "zen-engine"
    distribution = "zen-engine"

    def check(self, rule: Rule) -> None:
        try:
            zen.compile_expression(ToZen().translate(rule.tree))
        except (RuntimeError, UntranslatableError) as error:
            raise RefusedError(str(error)) from error

    def expression(self, rule: Rule) -> Forms[bool]:
        evaluate = zen.compile_expression(ToZen().translate(rule.tree)).evaluate
        return Forms(evaluate, evaluate)

    def rule_set(self, rules: Sequence[Rule]) -> Forms[list[str]]:
        decision = zen.ZenEngine().create_decision(zen.ZenDecisionContent(_table(rules)))

        def match(context: Event | bytes) -> list[str]:
            return [row["rule"] for row in decision.evaluate(context)["result"] or ()]

        return Forms(match, match)


def _table(rules: Sequence[Rule]) -> str:
    rows = [
        {"_id": rule.rule_id, "when": ToZen().translate(rule.tree), "then": f'"{rule.rule_id}"'}
        for rule in rules
    ]
    content = {
        "hitPolicy": "collect",
        "inputs": [{"id": "when", "name": "when"}],
        "outputs": [{"id": "then", "name": "then", "field": "rule"}],
        "rules": rows,
    }
    graph = {
        "nodes": [
            _node("in", "inputNode"),
            _node("table", "decisionTableNode") | {"content": content},
            _node("out", "outputNode"),
        ],
        "edges": [_edge("in", "table"), _edge("table", "out")],
    }
    return orjson.dumps(graph).decode()


def _node(name: str, kind: str) -> dict[str, Any]:
    return {"id": name, "name": name, "type": kind, "position": {"x": 0, "y": 0}}


def _edge(source: str, target: str) -> dict[str, str]:
    return {"id": f"{source}-{target}", "type": "edge", "sourceId": source, "targetId": target}


ADAPTER = Zen
