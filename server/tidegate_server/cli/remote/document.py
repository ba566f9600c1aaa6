"""A definitions document to send to a service."""

from __future__ import annotations

import attrs

from tidegate.errors import DefinitionsError
from tidegate.policy.document import parse_document, to_document
from tidegate.policy.document.tree import Scalar, find
from tidegate_server.cli.remote.values import Values


@attrs.frozen
class AppliedDocument:
    """The text of a document.

    Args:
        content: YAML or JSON in UTF-8; the service rejects anything else, with locations.
    """

    content: bytes

    @property
    def media(self) -> str:
        """The media type of the document."""
        is_json = self.content.lstrip()[:1] == b"{"
        return "application/json" if is_json else "application/yaml"

    @property
    def tenant(self) -> str | None:
        """The id or slug of the tenant that the document names."""
        try:
            root = parse_document(self.content).root
        except DefinitionsError:
            return None
        for member in ("tenant_id", "slug"):
            node = find(root, f"/tenant/{member}")
            if isinstance(node, Scalar) and isinstance(node.value, str):
                return node.value
        return None

    def for_tenant(self, tenant_id: str) -> AppliedDocument:
        """The same document for another tenant; line numbers don't change."""
        try:
            parsed = parse_document(self.content)
        except DefinitionsError:
            return self
        node = parsed.tenant_id
        if parsed.source is None or node is None:
            return self
        text, start, end = parsed.source.text, node.start or 0, node.end or 0
        breaks = "\n" * text.count("\n", start, end)
        return AppliedDocument(f'{text[:start]}"{tenant_id}"{breaks}{text[end:]}'.encode())

    def values(self) -> Values:
        """The ids that it gives each object; none if this version cannot read it."""
        try:
            source = parse_document(self.content).read().compiled.source
        except DefinitionsError:
            return Values({})
        return Values.of_document(to_document(source))
