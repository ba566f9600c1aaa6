"""Generated programs: a schema first, then a typed expression over it, then an event.

Not every text checks: a constant may not parse, and a call may be ill-typed on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.testing import events
from tidegate.testing.choices import pick
from tidegate.testing.expressions import RESULT_TYPES, ExpressionGenerator

if TYPE_CHECKING:
    from tidegate.language.tree.schema import Schema
    from tidegate.testing.choices import Choices
    from tidegate.types import Type

MAX_DEPTH = 4


@attrs.frozen
class GeneratedProgram:
    """An expression, the schema it is written for, and an event to evaluate it on."""

    text: str
    schema: Schema
    event: dict[str, Any]


def generate_program(
    choices: Choices, wanted: Type | None = None, declared: Schema | None = None
) -> GeneratedProgram:
    """A program from any source of choices; shared by the strategies and the long runs."""
    if declared is None:
        declared = events.schema(choices)
    if wanted is None:
        wanted = pick(choices, RESULT_TYPES)
    generator = ExpressionGenerator(choices, declared)
    text = generator.expression(wanted, 1 + choices.below(MAX_DEPTH))
    event = events.EventGenerator(choices, declared, generator.literals).event()
    return GeneratedProgram(text, declared, event)
