"""Definitions documents: YAML, JSON or plain data, converted to definitions and back.

A document is accepted or rejected as a whole, with every finding at once.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.language.tree.diagnostics import Source
from tidegate.policy.definitions.compile import compile_all
from tidegate.policy.definitions.findings import MAX_FINDINGS, Finding, refuse
from tidegate.policy.document.checks import check_objects, check_references
from tidegate.policy.document.expected import ANY
from tidegate.policy.document.formatting import Formatted, format_tree
from tidegate.policy.document.json_text import compose_json
from tidegate.policy.document.members import is_null
from tidegate.policy.document.plain_data import from_python
from tidegate.policy.document.positions import at_offset, locate
from tidegate.policy.document.reader import read_tree
from tidegate.policy.document.tree import (
    Excerpt,
    Mapping,
    Ready,
    Scalar,
    Sequence,
    UnreadableDocumentError,
    count_nodes,
    decode,
    find,
)
from tidegate.policy.document.writer import to_document, to_members
from tidegate.policy.document.yaml_text import compose_yaml
from tidegate.policy.lint import lint as lint_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.model import Definitions, Tenant
    from tidegate.policy.document.tree import Node

__all__ = [
    "Excerpt",
    "Finding",
    "Ready",
    "compile_definitions",
    "count_nodes",
    "format_document",
    "parse_document",
    "read_document",
    "to_document",
    "to_members",
]


@attrs.frozen
class ParsedDocument:
    """A document as a tree with positions, not yet interpreted."""

    root: Node
    source: Source | None

    def has(self, member: str) -> bool:
        """Whether the document contains a member."""
        entries = self.root.entries if isinstance(self.root, Mapping) else ()
        return any(key.value == member for key, _ in entries)

    def with_member(self, name: str, value: Any) -> ParsedDocument:
        """The document with another member, given as plain data."""
        if not isinstance(self.root, Mapping):
            return self
        entries = (*self.root.entries, (Scalar(name), from_python(value, ANY)))
        return attrs.evolve(self, root=attrs.evolve(self.root, entries=entries))

    def locate(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings with their places in the text, in its order."""
        return locate(findings, self.root, self.source)

    @property
    def tenant_id(self) -> Scalar | None:
        """The tenant id in the document, as written."""
        around = find(self.root, "/tenant")
        node = find(self.root, "/tenant/tenant_id") if isinstance(around, Mapping) else None
        return node if isinstance(node, Scalar) and node.value is not None else None

    def read(
        self,
        tenant: Tenant | None = None,
        before: Compilation | None = None,
        lint: str | None = None,
    ) -> Compilation:
        """Read, check and compile it.

        Args:
            tenant: the tenant these definitions are for, overriding the document's; if the document
                names one by id, that must be this one.
            before: as for :func:`read_document`.
            lint: as for :func:`read_document`.

        Raises:
            DefinitionsError: with every error, and its position if there is text.
        """
        if tenant is None:
            return _read(self.root, self.source, before, lint)
        written = self.tenant_id
        if written is not None and str(written.value).lower() != tenant.tenant_id:
            message = "the document is of another tenant"
            hint = "leave `tenant` out to read it for any"
            finding = Finding("wrong-tenant", message, "/tenant/tenant_id", hint=hint)
            raise refuse(locate([finding], self.root, self.source))
        return _read(_for_tenant(self.root, tenant), self.source, before, lint)


def parse_document(document: str | bytes | AbstractMapping[str, Any]) -> ParsedDocument:
    """The tree for a document.

    Raises:
        DefinitionsError: the text cannot be read.
    """
    source: Source | None = None
    try:
        if isinstance(document, AbstractMapping):
            return ParsedDocument(from_python(document), None)
        text = decode(document)
        source = Source(text)
        compose = compose_json if text.lstrip()[:1] == "{" else compose_yaml
        return ParsedDocument(compose(text), source)
    except UnreadableDocumentError as error:
        raise refuse([at_offset(error.finding, source)]) from None


def format_document(document: str | bytes) -> Formatted:
    """A document with its expressions in their canonical layout; all else stays as it is.

    Raises:
        DefinitionsError: the text can't be read, or an expression doesn't parse.
    """
    parsed = parse_document(document)
    text = "" if parsed.source is None else parsed.source.text
    return format_tree(parsed.root, text, lambda changed: parse_document(changed).root)


def read_document(
    document: str | bytes | AbstractMapping[str, Any],
    before: Compilation | None = None,
    lint: str | None = None,
) -> Compilation:
    """Read, check and compile a document.

    Args:
        document: YAML text, JSON text (which begins with ``{``), either as UTF-8 bytes, or plain
            data of the same shape. Plain data may contain objects that were read before
            (``Ready``), and parts of lists (``Excerpt``).
        before: definitions that this document may be a change of; their expressions are not checked
            again if the result can't differ.
        lint: the JSON pointer of the object whose definitions are also linted, "" for all of them
            (:func:`tidegate.policy.lint.lint`); None lints nothing.

    Returns:
        The compiled definitions (``.compiled``, the model in ``.compiled.source``) and
        the warnings among ``.findings``.

    Raises:
        DefinitionsError: with every error, and its position if there is text.
    """
    return parse_document(document).read(before=before, lint=lint)


def compile_definitions(definitions: Definitions) -> CompiledDefinitions:
    """The compiled form of definitions, whatever their origin.

    Definitions from a document have been checked and compiled already; those made by hand are
    checked now, by the same rules.

    Raises:
        DefinitionsError: with every error, by JSON pointer.
    """
    made: Compilation = definitions.compilation or read_document(to_document(definitions))
    return made.compiled


def _for_tenant(root: Node, tenant: Tenant) -> Node:
    if not isinstance(root, Mapping):
        return root
    others = [(key, value) for key, value in root.entries if key.value != "tenant"]
    written = find(root, "/tenant")
    if isinstance(written, (Scalar, Sequence)) and not is_null(written):
        return root  # reading it rejects anything but an object or an omitted member
    members = from_python(to_members(tenant), ANY)
    return attrs.evolve(root, entries=(*others, (Scalar("tenant"), members)))


def _read(
    root: Node, source: Source | None, before: Compilation | None, lint: str | None
) -> Compilation:
    reading = read_tree(root, source.text if source else "")
    definitions = reading.definitions
    if definitions is None:
        raise refuse(locate(reading.findings, root, source))
    objects = list(islice(check_objects(definitions), MAX_FINDINGS))
    if sum(each.severity == "error" for each in objects) == MAX_FINDINGS:
        raise refuse(locate(objects, root, source))
    compilation = compile_all(definitions, before=before)
    references = islice(check_references(definitions, compilation.kept), MAX_FINDINGS)
    later = [*objects, *references, *compilation.findings]
    findings = reading.findings + [each for each in later if not reading.is_stand_in(each.pointer)]
    if any(each.severity == "error" for each in findings):
        raise refuse(locate(findings, root, source))
    if lint is not None:
        findings += lint_all(compilation, lint)
    made = attrs.evolve(compilation, findings=tuple(locate(findings, root, source)))
    object.__setattr__(definitions, "compilation", made)
    return made
