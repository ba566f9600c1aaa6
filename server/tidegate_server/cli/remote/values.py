"""The values of a document's objects, to show changes."""

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
    "override": "overrides",
}
"""Kinds of objects as named in changes, and their members of a document."""
MAX_LINES = 40
"""Most lines of a value to show; a named list may have 100,000 entries."""


@attrs.frozen
class Values:
    """A document by section and object name.

    Args:
        document: in the format of an export.
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
        """The value of a changed object's member; None if it has none."""
        kind = change["kind"]
        name = "" if kind == "tenant" else change["name"]
        return self.objects.get((kind, name), {}).get(member)


def shown(member: str, value: Any) -> list[str]:
    """A member as lines of YAML; none if it is absent."""
    if value is None:
        return []
    text = yaml.safe_dump({member: value}, sort_keys=False, allow_unicode=True, width=90)
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"... {len(lines) - MAX_LINES} more lines"]
    return lines
