"""The steps of a pack in a document, as differences that can be shown before they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.packs.adding import added, as_added, own, removed, unlabelled, updated
from tidegate.packs.labels import definitions_in, version_in
from tidegate.packs.merging import differences
from tidegate.packs.pack import PackError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.packs.merging import Change, Conflict
    from tidegate.packs.pack import Pack


@attrs.frozen(kw_only=True)
class Plan:
    """A step of a pack in a document.

    Attributes:
        document: the document after it.
        changes: the differences, without those of the pack's labels.
        yours: the changes that the site made in the objects of the pack; slots are left out.
        conflicts: the places at which the site's value stays instead of the pack's.
    """

    document: dict[str, Any]
    changes: tuple[Change, ...]
    yours: tuple[Change, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


def plan_add(pack: Pack, document: Mapping[str, Any], slots: Mapping[str, str]) -> Plan:
    """Add a pack, so that it changes no answer.

    Args:
        pack: the pack.
        document: the document, as plain data.
        slots: expressions for slots, instead of the pack's guesses.

    Raises:
        PackError: the document has the pack or one of its slugs already, or a slot can't be given.
    """
    if version_in(pack, document) is not None:
        raise PackError(f"the definitions have the pack `{pack.name}` already; update it")
    after = added(pack, document, slots)
    return Plan(document=after, changes=tuple(differences(document, after)))


def plan_update(pack: Pack, document: Mapping[str, Any]) -> Plan:
    """Bring a pack to the version at hand, and keep the site's changes.

    Args:
        pack: the pack.
        document: the document, as plain data.

    Raises:
        PackError: the document doesn't have the pack, or has a version that isn't known.
    """
    old = definitions_in(pack, document)
    merged = updated(old, pack, document)
    bare = (unlabelled(old, pack, each) for each in (document, merged.document))
    return Plan(
        document=merged.document,
        changes=tuple(differences(*bare)),
        yours=changed_by_site(pack, old, document),
        conflicts=merged.conflicts,
    )


def plan_remove(pack: Pack, document: Mapping[str, Any]) -> Plan:
    """Remove the objects of a pack; the actions of its slots stay.

    Args:
        pack: the pack.
        document: the document, as plain data.

    Raises:
        PackError: the document doesn't have the pack, or has a version that isn't known.
    """
    old = definitions_in(pack, document)
    after = removed(pack, old, document)
    return Plan(
        document=after,
        changes=tuple(differences(document, after)),
        yours=changed_by_site(pack, old, document),
    )


def changed_by_site(
    pack: Pack, old: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[Change, ...]:
    """The changes that a site made in the objects of a pack; slots are left out.

    Args:
        pack: the pack.
        old: the definitions of the version that the document has.
        document: the document, as plain data.
    """
    slots = tuple(f"actions.{slot}." for slot in pack.slots)
    return tuple(
        each
        for each in differences(as_added(old), own(old, pack, document))
        if not f"{each.place}.".startswith(slots)
    )
