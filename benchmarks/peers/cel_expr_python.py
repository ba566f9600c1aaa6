"""``cel-expr-python``: the CEL of C++, bound by its authors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cel_expr_python import cel

from benchmarks.peers.adapter import OneByOne, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.traffic.workload import Event, Rule

TEXTS = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)


class CelExprPython(OneByOne):
    """The same text as Tidegate's; an activation is made once an event.

    ``request`` is dyn: without a message type its members cannot be declared.
    """

    name = "cel-expr-python"
    distribution = "cel-expr-python"
    prepares = True

    def __init__(self) -> None:
        super().__init__()
        self._environment = cel.NewEnv(
            variables={"request": cel.Type.DYN, "fields": TEXTS, "source": cel.Type.STRING}
        )

    def compile(self, rule: Rule) -> Callable[[Any], bool]:
        try:
            evaluate = self._environment.compile(rule.expression).eval
        except Exception as error:  # the package raises bare RuntimeError and more
            raise RefusedError(str(error)) from error
        return lambda activation: evaluate(activation).value() is True

    def prepare(self, event: Event) -> Any:
        return self._environment.Activation(
            {"request": event["request"], "fields": event["fields"], "source": event["source"]}
        )


ADAPTER = CelExprPython
