"""``common-expression-language``: the CEL of Rust's cel crate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cel

from benchmarks.peers.adapter import OneByOne, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.traffic.workload import Event, Rule


class CommonExpressionLanguage(OneByOne):
    """The same text as Tidegate's; a context is made once an event."""

    name = "common-expression-language"
    distribution = "common-expression-language"
    prepares = True

    def compile(self, rule: Rule) -> Callable[[Any], bool]:
        try:
            execute = cel.compile(rule.expression).execute
        except Exception as error:  # the package raises bare ValueError and more
            raise RefusedError(str(error)) from error

        def holds(context: Any) -> bool:
            try:
                return execute(context) is True
            except Exception:  # an absent key, by whatever exception
                return False

        return holds

    def prepare(self, event: Event) -> cel.Context:
        return cel.Context(event)


ADAPTER = CommonExpressionLanguage
