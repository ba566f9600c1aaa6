"""The objects of a definitions document as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.policy.definitions.slugs import slug_from_name

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTIONS = ("lists", "actions", "entities", "mitigations", "policies")
"""The sections of a document, in the order in which a document has them."""


_IDS = ("list_id", "action_id", "entity_definition_id", "mitigation_id", "policy_id")


def without_id(found: Mapping[str, Any]) -> dict[str, Any]:
    """An object without its id, which a pack doesn't give.

    Args:
        found: the object.
    """
    return {name: value for name, value in found.items() if name not in _IDS}


def slug_of(section: str, found: Mapping[str, Any]) -> str:
    """The slug of an object, derived from its name if it is left out.

    Args:
        section: the section of the document.
        found: the object.
    """
    kind = "action" if section == "actions" else "other"
    return str(found.get("slug") or slug_from_name(str(found["name"]), kind))


def by_slug(document: Mapping[str, Any], section: str) -> dict[str, Mapping[str, Any]]:
    """The objects of a section by their slugs, in order."""
    return {slug_of(section, each): each for each in document.get(section) or ()}
