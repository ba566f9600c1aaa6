"""Short ways to ask the reference evaluator for the value or error of an expression."""

from __future__ import annotations

from typing import Any

from tidegate.evaluation.outcome import Outcome
from tidegate.evaluation.reference import evaluate
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT, Limits
from tidegate.types import NamedList
from tidegate.values import Map, from_python

LISTS = {
    "bad": NamedList("ip", ("192.0.2.0/24", "2001:db8::7")),
    "tenants": NamedList("string", ("acme", "10.0.0.1")),
}


def outcome(text: str, *, limits: Limits = DEFAULT, **variables: Any) -> Outcome:
    """Evaluate an expression; its variables are ``dyn`` and given as Python values.

    The check of constants is off: evaluation has to hold by itself.
    """
    schema = Schema.empty().with_lists(LISTS).with_variables(dict.fromkeys(variables, "dyn"))
    record = {name: from_python(value) for name, value in variables.items()}
    return evaluate(check(text, schema, strict=False).root, record, lists=LISTS, limits=limits)


def value(text: str, **variables: Any) -> Any:
    """The value of an expression; its failure fails the test."""
    return outcome(text, **variables).unwrap()


def code(text: str, **variables: Any) -> str | None:
    """The code of the error an expression ends in, None when it has a value."""
    failure = outcome(text, **variables).failure
    return failure.code if failure else None


def total(**entries: str) -> Map:
    """A total map, as headers are."""
    return Map(entries.items(), total=True)
