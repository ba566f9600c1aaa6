"""Coverage of definitions by events."""

from __future__ import annotations

from importlib import resources
from itertools import product
from typing import Any

import pytest
from tests.shared_data import some_lines

from tidegate import Engine, EventError
from tidegate.definitions import load_definitions
from tidegate.policy.document import compile_definitions, read_document
from tidegate.policy.explain.coverage import AtomCoverage, ClauseCoverage, Coverage

NOW = 1_772_445_600_000_000_000


def covered(condition: str, *events: dict[str, Any], **clause: Any) -> ClauseCoverage:
    """The only clause of definitions with this condition, after events with these fields."""
    document = {
        "apiVersion": "tidegate/v1",
        "entities": [{"name": "User", "key_fields": ['fields["user"]']}],
        "policies": [{"name": "P", "clauses": [{"expression": condition, **clause}]}],
    }
    coverage = Coverage(read_document(document).compiled)
    for event in events:
        coverage.decide({"fields": event}, NOW)
    (made,) = coverage.clauses.values()
    return made


def atom(clause: ClauseCoverage, text: str) -> AtomCoverage:
    (found,) = [each for each in clause.atoms if each.text == f"({text})"]
    return found


def decided(atom: AtomCoverage) -> bool:
    return bool(atom.decided_true or atom.decided_false)


@pytest.mark.parametrize(
    ("condition", "atoms"),
    [
        ('fields["a"] == "1"', ['fields["a"] == "1"']),
        ('!(fields["a"] == "1")', ['(fields["a"] == "1")']),
        ('fields["a"] == "1" && !(fields["b"] == "1" || false)', 2),
        ('fields["a"] == "1" ? fields["b"] == "1" : fields["c"] == "1"', 3),
        ('cel.bind(x, fields["a"], x == "1" || x == "2")', ['x == "1"', 'x == "2"']),
        ('["1", "2"].exists(x, x == fields["a"] && x != "")', 1),
        ("true", 0),
    ],
)
def test_atoms_are_the_smallest_parts(condition: str, atoms: list[str] | int) -> None:
    """Operators of bools are taken apart, macros and other calls aren't."""
    found = [each.text for each in covered(condition).atoms]
    assert (found if isinstance(atoms, list) else len(found)) == atoms


A, B, C = ('fields["a"] == "1"', 'fields["b"] == "1"', 'fields["c"] == "1"')


@pytest.mark.parametrize(
    ("condition", "event", "deciding"),
    [
        (f"{A} && {B}", "11", [A, B]),
        (f"{A} && {B}", "01", [A]),
        (f"{A} && {B}", "10", [B]),
        (f"{A} || {B}", "10", [A]),
        (f"{A} || {B}", "01", [B]),
        (f"{A} || {B}", "00", [A, B]),
        (f"!({A} || {B})", "00", [A, B]),
        (f"{A} ? {B} : {C}", "110", [A, B]),
        (f"{A} ? {B} : {C}", "011", [A, C]),
        (f"({A} || {B}) && {C}", "101", [A, C]),
        (f"({A} || {B}) && {C}", "100", [C]),
    ],
)
def test_an_atom_decides_if_the_result_follows_from_it(
    condition: str, event: str, deciding: list[str]
) -> None:
    """An operand that the result doesn't depend on hasn't decided it."""
    clause = covered(condition, dict(zip("abc", event, strict=False)))
    assert [each.text for each in clause.atoms if decided(each)] == deciding
    assert all(
        bool(each.decided_true) == bool(clause.fired) for each in clause.atoms if decided(each)
    )


SHAPES = (
    "{0} && {1} && {2}", "{0} || {1} || {2}", "{0} && ({1} || {2})", "{0} || {1} && {2}",
    "!{0} && !({1} && {2})", "{0} ? {1} : {2}", "({0} ? {1} : {2}) && {1}",
)  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_what_decides_agrees_with_the_evaluated_part(shape: str) -> None:
    """An atom that decides changes the result when it alone is evaluated to its opposite, or ends
    the evaluation before the others."""
    condition = shape.format(f"({A})", f"({B})", f"({C})")
    for values in product("01", repeat=3):
        event = dict(zip("abc", values, strict=True))
        clause = covered(condition, event)
        evaluated = {each.text for each in clause.atoms if each.true or each.false}
        for name, text in zip("abc", (A, B, C), strict=True):
            if shape.count(f"{{{'abc'.index(name)}}}") > 1:
                continue  # it is two atoms, and to change it changes both
            other = covered(condition, {**event, name: "0" if event[name] == "1" else "1"})
            reached = {each.text for each in other.atoms if each.true or each.false}
            if evaluated == reached:
                has_changed = bool(other.fired) != bool(clause.fired)
                assert decided(atom(clause, text)) == has_changed


def test_a_clause_is_covered_when_it_was_true_because_of_each_atom() -> None:
    """A clause that fired by one of two alternatives isn't covered."""
    condition = f"{A} || {B}"
    assert not covered(condition).is_covered
    assert not covered(condition, {"a": "0", "b": "0"}).is_covered
    assert not covered(condition, {"a": "1", "b": "0"}, {"a": "0", "b": "0"}).is_covered
    assert covered(condition, {"a": "1", "b": "0"}, {"a": "0", "b": "1"}).is_covered


def test_errors_are_counted() -> None:
    """An atom that fails is neither true nor false."""
    document = {
        "apiVersion": "tidegate/v1",
        "policies": [{"name": "P", "clauses": [{"expression": 'int(fields["n"]) > 1'}]}],
    }
    coverage = Coverage(read_document(document).compiled)
    for value in ("2", "x", "1"):
        coverage.decide({"fields": {"n": value}}, NOW)
    expression = coverage.expressions["policies.p.clauses[0].expression"]
    assert (expression.evaluated, expression.errors) == (3, {"invalid_argument": 1})
    assert [(each.true, each.false) for each in expression.atoms] == [(1, 1)]


def test_a_clause_counts_how_far_events_come() -> None:
    """Scope, actions, entity, condition, window and firing are counted one after the other."""
    window = {"duration_seconds": 60, "threshold": 3}
    events = [{"a": "1", "user": "u"}] * 2 + [{"a": "0", "user": "u"}, {"a": "1"}]
    clause = covered(A, *events, entity="user", window=window)
    assert (clause.in_scope, clause.actions, clause.entity, clause.condition) == (4, 4, 3, 2)
    assert (clause.counted, clause.threshold, clause.fired) == (2, 3, 0)
    clause = covered(A, *events, events[0], entity="user", window=window)
    assert (clause.counted, clause.fired, clause.is_covered) == (3, 1, True)


def test_a_new_test_forgets_events_and_keeps_counts() -> None:
    """Windows begin empty, and what was exercised stays."""
    document = {
        "apiVersion": "tidegate/v1",
        "entities": [{"name": "User", "key_fields": ['fields["user"]']}],
        "policies": [
            {
                "name": "P",
                "clauses": [{"entity": "user", "window": {"duration_seconds": 9, "threshold": 2}}],
            }
        ],
    }
    coverage = Coverage(read_document(document).compiled)
    for _ in range(2):
        coverage.begin()
        coverage.decide({"fields": {"user": "u"}}, NOW)
    (clause,) = coverage.clauses.values()
    assert (clause.in_scope, clause.counted, clause.fired) == (2, 1, 0)
    assert coverage.percent == 0


def test_an_event_that_the_engine_refuses_is_refused() -> None:
    """Coverage doesn't count events that aren't decided."""
    coverage = Coverage(read_document({"apiVersion": "tidegate/v1"}).compiled)
    with pytest.raises(EventError):
        coverage.decide({"requst": {}}, NOW)
    assert (coverage.events, coverage.percent) == (0, 100)


def test_clauses_fire_as_they_do_in_the_engine() -> None:
    """Over recorded traffic, each clause fires for as many events as in the native engine."""
    definitions = load_definitions(str(resources.files("tidegate.samples") / "definitions.yaml"))
    coverage = Coverage(compile_definitions(definitions))
    engine = Engine(definitions)
    fired: dict[tuple[str, str, bool], int] = {}
    for event in some_lines("data/traffic/events.jsonl.gz", 1_000):
        coverage.decide(event, NOW)
        decision = engine.decide(event, NOW)
        for each in decision.fired:
            key = (each.policy, each.clause, each.active)
            fired[key] = fired.get(key, 0) + 1
    counted = {
        (each.policy, each.clause, is_active): number
        for each in coverage.clauses.values()
        for is_active, number in ((False, each.fired), (True, each.active))
        if number
    }
    assert counted == fired
