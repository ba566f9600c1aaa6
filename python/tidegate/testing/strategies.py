"""Hypothesis strategies: schemas, typed expressions, events that fit them.

    from hypothesis import given
    from tidegate.testing import strategies

    @given(strategies.programs())
    def test_my_host(program):
        tidegate.compile(program.text, schema=program.schema).evaluate(program.event)

The schema comes first, then an expression of a wanted type over it, then an event with some of the
members that the expression reads.  Not every text checks: a constant may not parse, and a call may
be ill-typed on purpose; ``programs(checked=True)`` returns only those that do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tidegate.errors import ExpressionError
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.testing import events as event_generator
from tidegate.testing import vocabulary
from tidegate.testing.choices import Choices, DrawnChoices
from tidegate.testing.programs import GeneratedProgram, generate_program

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from tidegate.types import Type


def _choices(draw: DrawFn) -> Choices:
    return DrawnChoices(lambda bound: draw(st.integers(0, bound - 1)))


@st.composite
def _programs(draw: DrawFn, wanted: Type | None, declared: Schema | None) -> GeneratedProgram:
    return generate_program(_choices(draw), wanted, declared)


def _is_checked(program: GeneratedProgram) -> bool:
    try:
        check(program.text, program.schema)
    except ExpressionError:
        return False
    return True


def programs(
    wanted: Type | None = None, *, schema: Schema | None = None, checked: bool = False
) -> SearchStrategy[GeneratedProgram]:
    """Programs of a type (any by default) over a schema (a generated one by default).

    Args:
        wanted: the type of the result.
        schema: the names that the expression may read.
        checked: only programs that the checker accepts.
    """
    found = _programs(wanted, schema)
    return found.filter(_is_checked) if checked else found


@st.composite
def _schemas(draw: DrawFn) -> Schema:
    return event_generator.schema(_choices(draw))


def schemas() -> SearchStrategy[Schema]:
    """The field model with some extra variables, and named lists."""
    return _schemas()


@st.composite
def _events(draw: DrawFn, declared: Schema) -> dict[str, Any]:
    return event_generator.EventGenerator(_choices(draw), declared, {}).event()


def events(schema: Schema | None = None) -> SearchStrategy[dict[str, Any]]:
    """Events in the shape of a runtime request, including hostile strings, as dicts."""
    return _events(schema if schema is not None else Schema.default())


def event_bytes(schema: Schema | None = None) -> SearchStrategy[bytes]:
    """Events as for :func:`events`, as JSON."""
    written = events(schema).map(event_generator.to_json)
    return written.filter(lambda data: data is not None).map(lambda data: data or b"")


@st.composite
def _values(draw: DrawFn, kind: Type | None) -> Any:
    choices = _choices(draw)
    return vocabulary.value(choices, kind if kind is not None else vocabulary.any_type(choices))


def values(kind: Type | None = None) -> SearchStrategy[Any]:
    """Values of the language, of one type or any."""
    return _values(kind)
