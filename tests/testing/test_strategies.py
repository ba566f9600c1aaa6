"""The strategies generate programs that check, over every function, and events that fit."""

from __future__ import annotations

import random
import re
from typing import Any

import orjson
from hypothesis import given

import tidegate
from tidegate.errors import ExpressionError
from tidegate.evaluation.rules import compile_rules
from tidegate.functions import FUNCTIONS
from tidegate.language.check.checker import check
from tidegate.language.tree import checked
from tidegate.language.tree.schema import Schema
from tidegate.language.tree.walk import walk
from tidegate.limits import DEFAULT
from tidegate.testing import strategies
from tidegate.testing.agreement import UNPRICED, observe
from tidegate.testing.choices import RandomChoices
from tidegate.testing.programs import GeneratedProgram, generate_program
from tidegate.types import BOOL, INT
from tidegate.values import Timestamp, from_python
from tidegate.wire_values import from_wire, to_wire


def generated(seed: int, count: int) -> list[GeneratedProgram]:
    choices = RandomChoices(random.Random(seed))
    return [generate_program(choices) for _ in range(count)]


@given(strategies.programs(BOOL, checked=True))
def test_checked_programs_evaluate(program: GeneratedProgram) -> None:
    """A program that checks has a type that was asked for and ends in a value or an error."""
    accepted = check(program.text, program.schema)
    assert str(accepted.type) in ("bool", "dyn")
    rules = compile_rules({"": accepted}, program.schema, "reference")
    assert observe(rules, 0, program.event).cost is not None


@given(strategies.programs(INT, schema=Schema.empty()))
def test_a_given_schema_is_kept(program: GeneratedProgram) -> None:
    """An expression reads nothing that the schema does not have."""
    assert program.schema == Schema.empty()


@given(strategies.events())
def test_events_are_accepted(event: dict[str, Any]) -> None:
    """Hostile as their strings are, generated events are events."""
    rules = compile_rules({"": check("source", Schema.default())}, Schema.default(), "reference")
    assert observe(rules, 0, event).value == {"type": "string", "value": event.get("source", "")}


@given(strategies.event_bytes())
def test_event_bytes_are_json(data: bytes) -> None:
    """The bytes hold an object in the shape of a runtime request."""
    assert orjson.loads(data).keys() <= {
        "source",
        "observed_at",
        "request",
        "fields",
        "agent",
        "geo",
    }


@given(strategies.schemas())
def test_schemas_extend_the_field_model(schema: Schema) -> None:
    """Every generated schema has the fields of traffic events."""
    assert Schema.default().fields.items() <= schema.fields.items()


@given(strategies.values())
def test_values_survive_the_wire(value: Any) -> None:
    """Generated values are values of the language."""
    wire = to_wire(from_python(value))
    assert to_wire(from_wire(wire)) == wire


@given(strategies.values(tidegate.types.TIMESTAMP))
def test_values_have_the_wanted_type(value: Any) -> None:
    """A generated value has the wanted type."""
    assert isinstance(value, Timestamp)


def test_most_programs_check() -> None:
    """At least nine of ten generated programs mean something."""
    accepted = 0
    for program in generated(1, 300):
        try:
            check(program.text, program.schema, limits=UNPRICED)
            accepted += 1
        except ExpressionError:
            continue
    assert accepted > 270


def test_every_function_and_node_is_generated() -> None:
    """A function is reached from the day it is declared, and so is every kind of node."""
    calls: set[tuple[str, bool]] = set()
    nodes: set[type] = set()
    for program in generated(2, 6_000):
        try:
            root = check(program.text, program.schema, limits=UNPRICED).root
        except ExpressionError:
            continue
        for node in walk(root):
            nodes.add(type(node))
            if isinstance(node, checked.Call):
                calls.add((node.function, node.member))
    assert FUNCTIONS.keys() - calls == set()
    assert set(checked.Checked.__args__) - nodes == set()


def test_the_same_seed_makes_the_same_programs() -> None:
    """A run can be repeated from its seed."""
    assert generated(3, 20) == generated(3, 20)


def test_nesting_stays_within_the_limits() -> None:
    """A generated program is never refused for its size."""
    texts = [program.text for program in generated(4, 300)]
    assert max(map(len, texts)) < DEFAULT.source_bytes
    assert any(re.search(r"\.(all|exists)\(", text) for text in texts)
