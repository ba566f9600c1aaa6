"""Rules written out as Python by hand: what a program without an engine would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.peers.adapter import OneByOne, RefusedError
from benchmarks.traffic.translation import Translator, UntranslatableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.traffic.workload import Rule


class ToPython(Translator):
    """``"GET" == event["request"]["method"] and ...``"""

    templates: ClassVar[dict[str, str]] = {
        "and": "and",
        "or": "or",
        "not": "(not {operand})",
        "eq": "{subject} == {text}",
        "contains": "{text} in {subject}",
        "starts": "{subject}.startswith({text})",
        "ends": "{subject}.endswith({text})",
        "in": "{subject} in ({texts},)",
        "has": "({key} in {map})",
    }

    def map(self, name: str) -> str:
        return 'event["fields"]' if name == "fields" else f'event["request"]["{name}"]'

    def member(self, name: str) -> str:
        return f'event["{name}"]' if name == "source" else f'event["request"]["{name}"]'

    def value(self, name: str, key: str) -> str:
        return f'{self.map(name)}.get({self.literal(key)}, "")'

    def literal(self, text: str) -> str:
        return repr(text)


class PythonLambda(OneByOne):
    """Each rule a lambda, a set a list comprehension over them."""

    name = "Python lambda"

    def compile(self, rule: Rule) -> Callable[[Any], bool]:
        try:
            text = ToPython().translate(rule.tree)
        except UntranslatableError as error:
            raise RefusedError(str(error)) from error
        holds: Callable[[Any], bool] = eval(f"lambda event: {text}", {})  # written by ToPython
        return holds


ADAPTER = PythonLambda
