"""Reads the corpus: cases that every evaluator must get right, as data.

The format is described in ``tests/corpus/README.md``.  An engine joins with one call of
``run``; a case costs a few lines.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.evaluation.rules import Evaluator, bundle, read_rules
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT, Limits
from tidegate.testing.agreement import UNPRICED, Observed, observe
from tidegate.values import from_python
from tidegate.wire_values import to_wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_MEMBERS = frozenset(
    {"name", "text", "value", "error", "span", "cost", "variables", "lists", "event", "limits"}
)


@attrs.frozen
class CorpusCase:
    """One case: an expression, the data it may read, and the expected result."""

    topic: str
    name: str
    text: str
    schema: Schema
    event: Mapping[str, Any] | bytes
    limits: Limits
    expected: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.topic}/{self.name}"

    def run(self, evaluator: Evaluator) -> Observed:
        """An evaluator's result for the case."""
        checked = {"": check(self.text, self.schema, limits=UNPRICED)}
        rules = read_rules(bundle(checked, self.schema, self.limits), evaluator)
        return observe(rules, 0, self.event)

    def differences(self, found: Observed) -> list[str]:
        """The difference of ``found`` from the expected result; empty if there isn't one."""
        members = attrs.asdict(found, recurse=False)
        return [
            f"{name}: expected {wanted!r}, found {members[name]!r}"
            for name, wanted in self.expected.items()
            if members[name] != wanted
        ]


def read_corpus(directory: Path) -> Iterator[CorpusCase]:
    """Every case of every topic in a directory, in the order of the files.

    Raises:
        ValueError: a file isn't a corpus: a member is unknown, a name is used twice, or a case
            expects nothing.
    """
    for path in sorted(directory.glob("*.toml")):
        names: set[str] = set()
        for table in tomllib.loads(path.read_text(encoding="utf-8")).get("case", ()):
            case = _case(path.stem, table)
            if case.name in names:
                raise ValueError(f"{path.name}: the name `{case.name}` is used twice")
            names.add(case.name)
            yield case


def _case(topic: str, table: Mapping[str, Any]) -> CorpusCase:
    unknown = table.keys() - _MEMBERS
    if unknown or ("value" in table) == ("error" in table):
        raise ValueError(f"{topic}: `{table.get('name')}` is malformed")
    schema = Schema.default().with_variables(table.get("variables", {}))
    event = table.get("event", {})
    return CorpusCase(
        topic=topic,
        name=table["name"],
        text=table["text"],
        schema=schema.with_lists(table.get("lists", {})),
        event=event.encode() if isinstance(event, str) else event,
        limits=attrs.evolve(DEFAULT, **table.get("limits", {})),
        expected=_expected(table),
    )


def _expected(table: Mapping[str, Any]) -> dict[str, Any]:
    expected: dict[str, Any] = {}
    if "value" in table:
        expected["value"] = _value(table["value"])
    if "error" in table:
        expected["code"] = table["error"]
    if "span" in table:
        expected["span"] = tuple(table["span"])
    if "cost" in table:
        expected["cost"] = table["cost"]
    return expected


def _value(written: Any) -> Any:
    """A VALUE: as it is when the table has a type, else what TOML's value stands for."""
    if isinstance(written, dict) and "type" in written:
        return written
    return to_wire(from_python(written))
