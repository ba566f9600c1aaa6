"""Merges a new version of a pack into a document: old pack, new pack, and the site's document.

A change of the site is always kept. If the pack changed the same member, that is a conflict, and
it is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from tidegate.packs.objects import SECTIONS, by_slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Absent(Enum):
    """Stands for a value that isn't there."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
Value: TypeAlias = Any
"""A plain value, or ``ABSENT``."""


@attrs.frozen
class Change:
    """A place at which two documents differ.

    Attributes:
        place: section, slug and members, joined by dots.
        before: the value before.
        after: the value after.
    """

    place: str
    before: Value
    after: Value


@attrs.frozen
class Conflict:
    """A place that the site and the pack changed in different ways; the site's value is kept.

    Attributes:
        place: section, slug and members, joined by dots.
        site: the site's value.
        pack: the new pack's value.
    """

    place: str
    site: Value
    pack: Value


@attrs.frozen
class Merged:
    """The result of a merge.

    Attributes:
        document: the site's document with the changes of the pack.
        changes: what the pack changed in the document.
        conflicts: what it would have changed, if the site hadn't.
    """

    document: dict[str, Any]
    changes: tuple[Change, ...]
    conflicts: tuple[Conflict, ...]


def merge(base: Mapping[str, Any], site: Mapping[str, Any], new: Mapping[str, Any]) -> Merged:
    """Merge the changes from one version of a pack to another into a document.

    Args:
        base: the definitions of the pack that the document has.
        site: the document.
        new: the definitions of the new version.
    """
    merging = _Merging()
    document = dict(site)
    for section in SECTIONS:
        objects = merging.named(
            section, by_slug(base, section), by_slug(site, section), by_slug(new, section)
        )
        if objects or site.get(section):
            document[section] = list(objects.values())
    return Merged(document, tuple(merging.changes), tuple(merging.conflicts))


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The places at which the objects of one document differ from those of another."""
    found: list[Change] = []
    for section in SECTIONS:
        _differ(section, by_slug(before, section), by_slug(after, section), found)
    return found


def _differ(place: str, before: Value, after: Value, found: list[Change]) -> None:
    if before == after:
        return
    one, other = _by_name(before), _by_name(after)
    if one is None or other is None:
        found.append(Change(place, before, after))
        return
    for name in dict.fromkeys((*one, *other)):
        _differ(f"{place}.{name}", one.get(name, ABSENT), other.get(name, ABSENT), found)
    if list(one) != list(other) and isinstance(before, list) and one.keys() == other.keys():
        found.append(Change(f"{place} (order)", list(one), list(other)))


def _by_name(value: Value) -> Mapping[str, Any] | None:
    """The parts of an object, or of a list of named objects; None for another value."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list) or not value:
        return None
    parts = {
        str(each["name"]): each
        for each in value
        if isinstance(each, Mapping) and each.get("name") is not None
    }
    return parts if len(parts) == len(value) else None


class _Merging:
    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.conflicts: list[Conflict] = []

    def value(self, place: str, base: Value, site: Value, new: Value) -> Value:
        """The merged value at a place."""
        if new in (base, site):
            return site
        if site == base:
            self.changes.append(Change(place, site, new))
            return new
        if ABSENT not in (site, new):
            parts = [_by_name(each) for each in (site, new)]
            known = _by_name(base) or {}
            if parts[0] is not None and parts[1] is not None and type(site) is type(new):
                merged = self.named(place, known, parts[0], parts[1])
                return list(merged.values()) if isinstance(site, list) else merged
            if _are_texts(base, site, new) and place.endswith(".entries"):
                return self._entries(place, base, site, new)
        self.conflicts.append(Conflict(place, site, new))
        return site

    def named(
        self,
        place: str,
        base: Mapping[str, Any],
        site: Mapping[str, Any],
        new: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The merged parts of an object or a list, in order."""
        merged: dict[str, Any] = {}
        for name in self._order(place, list(base), list(site), list(new)):
            value = self.value(
                f"{place}.{name}",
                *(each.get(name, ABSENT) for each in (base, site, new)),
            )
            if value is not ABSENT:
                merged[name] = value
        return merged

    def _order(
        self, place: str, base: Sequence[str], site: Sequence[str], new: Sequence[str]
    ) -> list[str]:
        """All names, in the order of the site, or of the pack if only the pack changed it.

        A name that only the pack has follows the one that it follows there.
        """
        common = {*base} & {*site} & {*new}
        orders = [[each for each in names if each in common] for names in (base, site, new)]
        first, other = site, new
        if orders[1] == orders[0] != orders[2]:
            first, other = new, site
        elif orders[0] != orders[2] != orders[1] and place.endswith("clauses"):
            self.conflicts.append(Conflict(f"{place} (order)", orders[1], orders[2]))
        return _joined(first, _joined(other, base))

    def _entries(
        self, place: str, base: Iterable[str], site: Iterable[str], new: Iterable[str]
    ) -> list[str]:
        """Entries without those that either removed, with those that either added."""
        old, present, future = set(base), set(site), set(new)
        kept = [each for each in site if each in future or each not in old]
        kept += [each for each in new if each not in old and each not in present]
        self.changes.append(Change(place, list(site), kept))
        return kept


def _joined(first: Sequence[str], other: Sequence[str]) -> list[str]:
    """All names: the first ones in their order, each of the others behind the one it follows."""
    joined = list(first)
    before: str | None = None
    for name in other:
        if name not in joined:
            joined.insert(joined.index(before) + 1 if before is not None else 0, name)
        before = name
    return joined


def _are_texts(*values: Value) -> bool:
    return all(
        isinstance(each, list) and all(isinstance(item, str) for item in each) for each in values
    )
