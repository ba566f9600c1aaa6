"""``cel-python``: CEL in Python alone, by its faster, transpiling runner."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import celpy

from benchmarks.peers.adapter import OneByOne, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.traffic.workload import Event, Rule

logging.getLogger("celpy").setLevel(logging.CRITICAL)  # else each absent key is a line of output


class CelPython(OneByOne):
    """The same text as Tidegate's; the event is converted to CEL's types once."""

    name = "cel-python"
    distribution = "cel-python"
    prepares = True

    def __init__(self) -> None:
        super().__init__()
        self._environment = celpy.Environment(runner_class=celpy.CompiledRunner)

    def compile(self, rule: Rule) -> Callable[[Any], bool]:
        try:
            evaluate = self._environment.program(
                self._environment.compile(rule.expression)
            ).evaluate
        except Exception as error:  # parse errors and those of the transpiler
            raise RefusedError(str(error)) from error

        def holds(context: Any) -> bool:
            try:
                return bool(evaluate(context))
            except celpy.CELEvalError:
                return False

        return holds

    def prepare(self, event: Event) -> Any:
        return celpy.json_to_cel(event)


ADAPTER = CelPython
