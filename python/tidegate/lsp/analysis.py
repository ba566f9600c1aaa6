"""The analysis of a document's text: its tree, its objects, its findings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from tidegate.errors import DefinitionsError
from tidegate.limits import DEFAULT
from tidegate.lsp.names import named_objects
from tidegate.policy.definitions.expressions import Expressions, Use
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.document import parse_document
from tidegate.policy.document.positions import place_of
from tidegate.policy.lint import lint
from tidegate.types import NamedList

if TYPE_CHECKING:
    from tidegate.language.tree.ast import Span
    from tidegate.lsp.names import Named
    from tidegate.policy.definitions import shapes
    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.document import ParsedDocument
    from tidegate.policy.document.tree import Node

_OURS = re.compile(r"^[ \t]*[\"']?apiVersion[\"']?[ \t]*:[ \t]*[\"']?tidegate/", re.MULTILINE)
_BEGINNING = 64 * 1024
MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def is_definitions(text: str) -> bool:
    """Whether a text says that it is a definitions document, of any version.

    Editors open all kinds of YAML files; the others have no findings.
    """
    return _OURS.search(text, 0, _BEGINNING) is not None


@attrs.frozen
class Analysis:
    """One text as it was read.

    Attributes:
        text: the text.
        root: its tree; None if it isn't YAML.
        objects: those of the text, or of the last text that had a tree.
        findings: with their places.
        compilation: None if the definitions are rejected.
    """

    text: str
    root: Node | None = None
    objects: tuple[Named, ...] = ()
    findings: tuple[Finding, ...] = ()
    compilation: Compilation | None = None

    def slugs(self, section: str) -> list[Named]:
        """The objects of a section."""
        return [each for each in self.objects if each.section == section]

    @property
    def expressions(self) -> Expressions:
        """Checks expressions with the names of the document."""
        lists = {
            each.slug: NamedList("string" if each.text("kind") == "string" else "ip", ())
            for each in self.slugs("lists")
        }
        actions = [each.slug for each in self.slugs("actions")]
        return Expressions(actions, lists, DEFAULT)

    def span(self, finding: Finding) -> Span:
        """The part of the document that a finding is about."""
        at = finding.offset or 0
        if self.root is not None:
            found = place_of(attrs.evolve(finding, offset=None), self.root, self.text)
            if found.start == at and finding.pointer:
                return found
        return place_of(attrs.evolve(finding, offset=at), _NOWHERE, self.text)


_NOWHERE = parse_document({}).root


def read(text: str, last: Analysis | None) -> tuple[Analysis, ParsedDocument | None]:
    """The tree and the objects of a text; they take a tenth of the time of a check.

    Args:
        text: the document.
        last: what was known before, for the objects of a text that can't be parsed.
    """
    try:
        parsed = parse_document(text)
    except DefinitionsError as error:
        objects = () if last is None else last.objects
        return Analysis(text, None, objects, _findings(error)), None
    return Analysis(text, parsed.root, tuple(named_objects(parsed.root))), parsed


def check(analysis: Analysis, parsed: ParsedDocument, last: Analysis | None) -> Analysis:
    """The findings of ``tidegate check``.

    Args:
        analysis: of :func:`read`.
        parsed: the same document.
        last: what was known before: its expressions aren't checked again.
    """
    try:
        before = None if last is None else last.compilation
        compilation = parsed.read(before=before)
    except DefinitionsError as error:
        return attrs.evolve(analysis, findings=_findings(error))
    return attrs.evolve(analysis, findings=compilation.findings, compilation=compilation)


def linted(analysis: Analysis, parsed: ParsedDocument) -> Analysis:
    """The findings of ``tidegate lint`` as well, of definitions without errors."""
    if analysis.compilation is None:
        return analysis
    found = parsed.locate(lint(analysis.compilation))
    return attrs.evolve(analysis, findings=(*analysis.findings, *found))


def _findings(error: DefinitionsError) -> tuple[Finding, ...]:
    return tuple(each for each in error.diagnostics if isinstance(each, Finding))


def use_of(shape: shapes.Expression, *, has_entity: bool) -> Use:
    """The use of an expression at a place of the model."""
    match shape.purpose:
        case "action":
            return Use.ACTION
        case "key-field" | "window-field":
            return Use.KEY
        case "condition" if has_entity:
            return Use.CONDITION_ON_ENTITY
    return Use.CONDITION
