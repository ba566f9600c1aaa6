"""The values of the objects of a document, to show what changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import yaml

SECTIONS = {
    "list": "lists",
    "action": "actions",
    "entity": "entities",
    "mitigation": "mitigations",
    "policy": "policies",
}
"""Kinds of objects as changes name them, and their members of a document."""
MAX_LINES = 40
"""Lines of one value that are shown; a named list may have 100,000 entries."""


@attrs.frozen
class Values:
    """A document by section and name of the object.

    Args:
        document: in the form of an export.
    """

    objects: Mapping[tuple[str, str], Mapping[str, Any]]

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Values:
        """The values of a whole document."""
        found = {
            (kind, str(each.get("name"))): each
            for kind, section in SECTIONS.items()
            for each in document.get(section, ())
        }
        settings = document.get("settings") or {}
        tenant = {f"settings.{name}": value for name, value in settings.items()}
        return cls(found | {("tenant", ""): tenant})

    def find(self, change: Mapping[str, Any], member: str) -> Any:
        """The value of a member of what has changed; None when it has none."""
        kind = change["kind"]
        name = "" if kind == "tenant" else change["name"]
        return self.objects.get((kind, name), {}).get(member)


def shown(member: str, value: Any) -> list[str]:
    """A member as lines of YAML; none for one that is absent."""
    if value is None:
        return []
    text = yaml.safe_dump({member: value}, sort_keys=False, allow_unicode=True, width=90)
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"... {len(lines) - MAX_LINES} more lines"]
    return lines
