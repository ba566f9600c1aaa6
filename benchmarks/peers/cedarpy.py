"""``cedarpy``: a rule is a permit policy, the reasons of an answer are those that hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import cedarpy

from benchmarks.peers.adapter import Adapter, Forms, RefusedError
from benchmarks.traffic.translation import Translator, UntranslatableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.traffic.workload import Event, Rule

ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
)


class ToCedar(Translator):
    """``context.request.path like "/api/*" && ...``"""

    templates: ClassVar[dict[str, str]] = {
        "and": "&&",
        "or": "||",
        "not": "(!{operand})",
        "eq": "{subject} == {text}",
        "contains": '{subject} like "*{text}*"',
        "starts": '{subject} like "{text}*"',
        "ends": '{subject} like "*{text}"',
        "in": "[{texts}].contains({subject})",
        "has": "({map} has {key})",
    }
    guards_keys = True

    def map(self, name: str) -> str:
        return "context.fields" if name == "fields" else f"context.request.{name}"

    def member(self, name: str) -> str:
        return f"context.{name}" if name == "source" else f"context.request.{name}"

    def value(self, name: str, key: str) -> str:
        return f"{self.map(name)}[{self.literal(key)}]"

    def literal(self, text: str) -> str:
        return f'"{text.translate(ESCAPES)}"'

    def pattern(self, text: str) -> str:
        return text.translate(ESCAPES).replace("*", "\\*")


class Cedar(Adapter):
    """One policy set, one call an event, whatever the number of rules."""

    name = "cedarpy"
    distribution = "cedarpy"

    def check(self, rule: Rule) -> None:
        try:
            cedarpy.PolicySet.from_str(_policy(rule))
        except (ValueError, UntranslatableError) as error:
            raise RefusedError(str(error)) from error

    def expression(self, rule: Rule) -> Forms[bool]:
        ask = _Question([rule])
        return Forms(lambda event: ask(event).allowed, lambda text: ask(text.decode()).allowed)

    def rule_set(self, rules: Sequence[Rule]) -> Forms[list[str]]:
        ask = _Question(rules)
        ids = {f"policy{number}": rule.rule_id for number, rule in enumerate(rules)}

        def match(context: Event | str) -> list[str]:
            return [ids[name] for name in ask(context).diagnostics.reasons]

        return Forms(match, lambda text: match(text.decode()))


class _Question:
    """The policy set with the parts of a request that do not change.

    The event is the context. Given as text it spares the package writing a dict out as JSON.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._policies = cedarpy.PolicySet.from_str("\n".join(_policy(rule) for rule in rules))
        self._entities = cedarpy.Entities.from_json_str("[]")

    def __call__(self, context: Event | str) -> Any:
        request = {
            "principal": 'Source::"edge"',
            "action": 'Action::"request"',
            "resource": 'Site::"shop"',
            "context": context,
        }
        return cedarpy.is_authorized(request, self._policies, self._entities)


def _policy(rule: Rule) -> str:
    return f"permit (principal, action, resource) when {{ {ToCedar().translate(rule.tree)} }};"


ADAPTER = Cedar
