"""A definitions document on its way to a service."""

from __future__ import annotations

import json

import attrs

from tidegate.cli.remote.values import Values
from tidegate.errors import DefinitionsError
from tidegate.policy.document import parse_document, to_document
from tidegate.policy.document.tree import Mapping, Scalar, find


@attrs.frozen
class AppliedDocument:
    """The text of a document.

    Args:
        content: YAML or JSON in UTF-8; what is neither is refused by the service, with places.
    """

    content: bytes

    @property
    def is_json(self) -> bool:
        return self.content.lstrip()[:1] == b"{"

    @property
    def media(self) -> str:
        """The media type of the document."""
        return "application/json" if self.is_json else "application/yaml"

    @property
    def tenant(self) -> str | None:
        """The id or slug of the tenant that it names."""
        try:
            root = parse_document(self.content).root
        except DefinitionsError:
            return None
        for member in ("tenant_id", "slug"):
            node = find(root, f"/tenant/{member}")
            if isinstance(node, Scalar) and isinstance(node.value, str):
                return node.value
        return None

    def for_any_tenant(self) -> AppliedDocument:
        """The same without its tenant; in YAML every line stays where it is."""
        try:
            parsed = parse_document(self.content)
        except DefinitionsError:
            return self
        if not isinstance(parsed.root, Mapping) or not parsed.has("tenant"):
            return self
        if self.is_json:  # and read: text that begins with a brace is held to JSON
            members = json.loads(self.content)
            members.pop("tenant", None)
            return AppliedDocument(json.dumps(members).encode())
        text = self.content.decode("utf-8").removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
        key, value = next(entry for entry in parsed.root.entries if entry[0].value == "tenant")
        start, end = key.start or 0, value.end or 0
        kept = text[:start] + "\n" * text.count("\n", start, end) + text[end:]
        return AppliedDocument(kept.encode())

    def values(self) -> Values:
        """The ids that it gives each object; none if this version cannot read it."""
        try:
            source = parse_document(self.content).read().compiled.source
        except DefinitionsError:
            return Values({})
        return Values.of_document(to_document(source))
