"""The labels of a pack's objects, and the versions that they show.

A label says which version of a pack an object is from. The content of that version is in the pack,
so an update needs nothing but the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.packs.objects import SECTIONS, by_slug
from tidegate.packs.pack import PackError, order_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tidegate.packs.pack import Pack

LABEL = "pack"
VERSION_LABEL = "pack_version"


def has_label(pack: Pack, found: Mapping[str, Any]) -> bool:
    """Whether an object is labelled as one of a pack.

    Args:
        pack: the pack.
        found: the object.
    """
    return bool((found.get("labels") or {}).get(LABEL) == pack.name)


def version_in(pack: Pack, document: Mapping[str, Any]) -> str | None:
    """The version of a pack that a document has; the oldest, if it has objects of several.

    Args:
        pack: the pack.
        document: the document, as plain data.
    """
    return min((version for _, _, version in _objects(pack, document)), key=order_of, default=None)


def definitions_in(pack: Pack, document: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions of a pack as a document got them: each object in the version of its label.

    A policy that was restored is from an earlier version than the others.

    Args:
        pack: the pack.
        document: the document, as plain data.

    Raises:
        PackError: the document doesn't have the pack, or has a version that the pack doesn't know.
    """
    labelled = list(_objects(pack, document))
    if not labelled:
        raise PackError(f"the definitions don't have the pack `{pack.name}`")
    known = {
        version: pack.definitions_of(version)
        for version in dict.fromkeys(version for _, _, version in labelled)
    }
    newest = known[max(known, key=order_of)]
    made = {section: by_slug(newest, section) for section in SECTIONS}
    for section, slug, version in labelled:
        found = by_slug(known[version], section).get(slug)
        if found is not None:
            made[section][slug] = found
    return {section: list(objects.values()) for section, objects in made.items()}


def _objects(pack: Pack, document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Section, slug and version of the objects that are labelled as those of a pack."""
    for section in SECTIONS:
        for slug, each in by_slug(document, section).items():
            if has_label(pack, each) and not pack.is_slot(section, slug):
                yield section, slug, str(each["labels"].get(VERSION_LABEL, ""))
