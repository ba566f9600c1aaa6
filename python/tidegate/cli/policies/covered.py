"""Coverage of definitions as text, JSON and Cobertura XML."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import attrs
from rich.text import Text

from tidegate.cli.output import console, counted
from tidegate.language.tree.diagnostics import Source
from tidegate.policy.document import parse_document
from tidegate.policy.document.positions import document_offsets
from tidegate.policy.document.tree import Scalar, find

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.policy.definitions.model import Definitions
    from tidegate.policy.explain.coverage import (
        AtomCoverage,
        ClauseCoverage,
        Coverage,
        ExpressionCoverage,
    )

_NAMED = re.compile(r"(?P<section>actions|entities|policies)\.(?P<slug>[^.]+)(?P<rest>.*)")
_STYLES = {True: "green", None: "yellow", False: "bold red"}
"""The style of an atom that was seen true and false, of one with one value, and of the others."""


@attrs.frozen
class Covered:
    """A file of definitions, and what was exercised of them."""

    file: Path
    definitions: Definitions
    coverage: Coverage

    @property
    def clauses(self) -> list[ClauseCoverage]:
        """The clauses, in decision order."""
        return list(self.coverage.clauses.values())

    @property
    def atoms(self) -> list[AtomCoverage]:
        """The atoms of all expressions."""
        expressions = self.coverage.expressions.values()
        return [atom for each in expressions for atom in each.atoms]


def percent_of(covered: Sequence[Covered]) -> float:
    """The share of the clauses of all files that are covered; 100 if there aren't any."""
    clauses = [clause for each in covered for clause in each.clauses]
    number = sum(each.is_covered for each in clauses)
    return 100 * number / len(clauses) if clauses else 100.0


def print_coverage(covered: Covered) -> None:
    """Clauses and expressions with their counts; expressions are painted on a terminal."""
    console.print(f"\n{covered.file}: {counted(covered.coverage.events, 'event')}", markup=False)
    for clause in covered.clauses:
        word, style = ("covered", "green") if clause.is_covered else ("not covered", "bold red")
        console.print(f"  {clause.policy} / {clause.clause}: ", markup=False, end="")
        console.print(word, style=style, end="")
        console.print(f"{_missing(clause)}\n    {_counts(clause)}", markup=False)
    for expression in covered.coverage.expressions.values():
        _print_expression(expression)
    console.print(f"  {_totals(covered)}", markup=False)


def _counts(clause: ClauseCoverage) -> str:
    counts = ("in_scope", "actions", "entity", "condition", "fired", "active")
    parts = [f"{name.replace('_', ' ')} {getattr(clause, name):,}" for name in counts]
    if clause.threshold is not None:
        parts.insert(4, f"window {clause.counted or 0:,} of {clause.threshold:,}")
    return ", ".join(parts)


def _missing(clause: ClauseCoverage) -> str:
    if clause.is_covered:
        return ""
    if not clause.fired:
        return ", it never fired"
    missing = " or ".join(f"`{each.text}`" for each in clause.atoms if not each.decided_true)
    return f", its condition was never true because of {missing}"


def _print_expression(expression: ExpressionCoverage) -> None:
    failed = "".join(f", error {code} {number:,}" for code, number in expression.errors.items())
    heading = f"  {expression.place}: evaluated {expression.evaluated:,}{failed}"
    console.print(heading, markup=False)
    text = Text(expression.text.rstrip("\n"))
    for atom in expression.atoms:
        text.stylize(_STYLES[_is_seen(atom)], atom.start, atom.end)
    text = Text("\n").join([Text("    ") + line for line in text.split("\n")])
    console.print(text)
    for atom in expression.atoms:
        shown = " ".join(atom.text.split())
        decided = f"{atom.decided_true:,} true, {atom.decided_false:,} false"
        counts = f"true {atom.true:,}, false {atom.false:,}; decided {decided}"
        console.print(f"      {shown}: {counts}", markup=False)


def _is_seen(atom: AtomCoverage) -> bool | None:
    """Whether an atom was both true and false; None for one of the two."""
    if atom.true and atom.false:
        return True
    return None if atom.true or atom.false else False


def _totals(covered: Covered) -> str:
    clauses, atoms = covered.clauses, covered.atoms
    number = sum(each.is_covered for each in clauses)
    seen = sum(bool(each.true) and bool(each.false) for each in atoms)
    return (
        f"{number} of {counted(len(clauses), 'clause')} covered ({percent_of([covered]):.1f} %),"
        f" {seen} of {counted(len(atoms), 'atom')} seen true and false"
    )


def coverage_json(covered: Covered) -> dict[str, Any]:
    """Coverage as JSON data."""
    return {
        "file": str(covered.file),
        "events": covered.coverage.events,
        "percent": round(percent_of([covered]), 2),
        "clauses": [
            {
                **attrs.asdict(each, filter=lambda attribute, _: attribute.name != "atoms"),
                "covered": each.is_covered,
            }
            for each in covered.clauses
        ],
        "expressions": [attrs.asdict(each) for each in covered.coverage.expressions.values()],
    }


@attrs.define
class _Line:
    """A line of a document."""

    hits: int = 0
    seen: int = 0
    branches: int = 0


def to_cobertura(covered: Sequence[Covered]) -> bytes:
    """Coverage as Cobertura XML.

    A line has the times that its clause fired, or that its atoms were evaluated; each atom is two
    branches, true and false.
    """
    lines = {each.file: _lines(each) for each in covered}
    every = [line for each in lines.values() for line in each.values()]
    root = ElementTree.Element(
        "coverage", {**_rates(every), "version": "tidegate", "timestamp": str(int(time.time()))}
    )
    _counts_of(root, every)
    sources = ElementTree.SubElement(root, "sources")
    ElementTree.SubElement(sources, "source").text = "."
    packages = ElementTree.SubElement(root, "packages")
    package = ElementTree.SubElement(packages, "package", {"name": "policies", **_rates(every)})
    classes = ElementTree.SubElement(package, "classes")
    for file, found in lines.items():
        names = {"name": file.stem, "filename": file.as_posix()}
        made = ElementTree.SubElement(classes, "class", {**names, **_rates(list(found.values()))})
        ElementTree.SubElement(made, "methods")
        inner = ElementTree.SubElement(made, "lines")
        for number, line in sorted(found.items()):
            members = {"number": str(number), "hits": str(line.hits), "branch": "false"}
            if line.branches:
                share = f"{100 * line.seen // line.branches}% ({line.seen}/{line.branches})"
                members |= {"branch": "true", "condition-coverage": share}
            ElementTree.SubElement(inner, "line", members)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _rates(lines: Sequence[_Line]) -> dict[str, str]:
    hit = sum(bool(each.hits) for each in lines)
    branches, seen = sum(each.branches for each in lines), sum(each.seen for each in lines)
    return {
        "line-rate": f"{hit / len(lines) if lines else 1:.4f}",
        "branch-rate": f"{seen / branches if branches else 1:.4f}",
        "complexity": "0",
    }


def _counts_of(root: ElementTree.Element, lines: Sequence[_Line]) -> None:
    root.set("lines-covered", str(sum(bool(each.hits) for each in lines)))
    root.set("lines-valid", str(len(lines)))
    root.set("branches-covered", str(sum(each.seen for each in lines)))
    root.set("branches-valid", str(sum(each.branches for each in lines)))


def _lines(covered: Covered) -> dict[int, _Line]:
    """The lines of a document with something to exercise."""
    found: dict[int, _Line] = {}
    for number, hits, seen, branches in _hits(covered):
        line = found.setdefault(number, _Line())
        line.hits = max(line.hits, hits)
        line.seen += seen
        line.branches += branches
    return found


def _hits(covered: Covered) -> Iterator[tuple[int, int, int, int]]:
    """Line, hits, branches seen and branches of each clause, expression and atom."""
    text = covered.file.read_text(encoding="utf-8-sig")
    root, source = parse_document(text).root, Source(text)
    for clause in covered.clauses:
        node = find(root, _pointer(covered.definitions, clause.place))
        if node is not None:
            yield source.position(node.start or 0).line, clause.fired, 0, 0
    for expression in covered.coverage.expressions.values():
        node = find(root, _pointer(covered.definitions, expression.place))
        if not isinstance(node, Scalar):
            continue
        offsets = document_offsets(node, text)
        last = len(offsets) - 1
        yield source.position(offsets[0]).line, expression.evaluated, 0, 0
        for atom in expression.atoms:
            line = source.position(offsets[min(atom.start, last)]).line
            yield line, atom.true + atom.false, bool(atom.true) + bool(atom.false), 2


def _pointer(definitions: Definitions, place: str) -> str:
    """The JSON pointer of a place: objects are named there, and numbered in a document."""
    match = _NAMED.fullmatch(place)
    if match is None:
        return ""
    section, slug, rest = match.group("section", "slug", "rest")
    at = [each.slug for each in getattr(definitions, section)].index(slug)
    return f"/{section}/{at}{rest.replace('.', '/').replace('[', '/').replace(']', '')}"
