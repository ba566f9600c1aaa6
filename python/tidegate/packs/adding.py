"""Adds packs to documents, updates them, and removes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.packs.labels import LABEL, VERSION_LABEL, has_label
from tidegate.packs.merging import Merged, merge
from tidegate.packs.objects import SECTIONS, by_slug, slug_of
from tidegate.packs.pack import Pack, PackError

if TYPE_CHECKING:
    from collections.abc import Mapping


def added(
    pack: Pack,
    document: Mapping[str, Any],
    slots: Mapping[str, str],
    *,
    enforce: bool = False,
) -> dict[str, Any]:
    """A document with the objects of a pack behind its own, labelled with its name and version.

    Unless it enforces, the pack changes no answer: its mitigations are disabled, and policies that
    let requests pass (``final``) are drafts. Actions of the document that fill a slot are kept.

    Args:
        pack: the pack.
        document: the site's document, as plain data.
        slots: expressions for slots, instead of the pack's guesses.
        enforce: whether the pack decides at once.

    Raises:
        PackError: the slot doesn't exist, the document has its action already, or an object of the
            document has a slug of the pack.
    """
    made = dict(document)
    _check_slots(pack, document, slots)
    for section, objects in _labelled(pack).items():
        present = by_slug(document, section)
        new = []
        for slug, each in objects.items():
            if slug not in present:
                new.append(each if enforce else _harmless(section, each))
            elif not pack.is_slot(section, slug):
                raise PackError(f"the document has `{slug}` in `{section}` already")
            if slug in slots and pack.is_slot(section, slug):
                new[-1] = {**each, "expression": slots[slug]}
        if new:
            made[section] = [*(document.get(section) or ()), *new]
    return made


def _check_slots(pack: Pack, document: Mapping[str, Any], slots: Mapping[str, str]) -> None:
    for slot in slots:
        if slot not in pack.slots:
            known = ", ".join(pack.slots) or "none"
            raise PackError(f"`{pack.name}` has no slot `{slot}`; its slots: {known}")
        if slot in by_slug(document, "actions"):
            raise PackError(f"the document has the action `{slot}` already, which fills the slot")


def _harmless(section: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object that changes no answer."""
    if section == "mitigations":
        return {**found, "enabled": False}
    if section == "policies" and any(each.get("final") for each in found["clauses"]):
        return {**found, "status": "draft"}
    return found


def updated(old: Mapping[str, Any], pack: Pack, document: Mapping[str, Any]) -> Merged:
    """A document with the changes from an earlier version of a pack to this one.

    The actions of slots are the site's, and stay as they are. New objects change no answer, as
    those of an added pack.

    Args:
        old: the definitions of the version that the document has.
        pack: the new version.
        document: the site's document, as plain data.
    """
    site = unlabelled(old, pack, document)
    before = _with_slugs(old)
    old = {section: list(each.values()) for section, each in before.items()}
    new = {
        section: [
            each if slug in before[section] else dict(_harmless(section, each))
            for slug, each in objects.items()
        ]
        for section, objects in _with_slugs(pack.definitions).items()
    }
    present = by_slug(site, "actions")
    known = by_slug(old, "actions")
    for each in new["actions"]:
        slug = slug_of("actions", each)
        if slug in pack.slots and slug in present:
            known[slug] = each
    old["actions"] = list(known.values())
    merged = merge(old, site, new)
    return Merged(_with_labels(pack, document, merged.document), merged.changes, merged.conflicts)


def removed(pack: Pack, old: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """A document without the objects of a pack; the actions of its slots stay.

    Args:
        pack: the pack.
        old: the definitions of the version that the document has.
        document: the site's document, as plain data.
    """
    made = dict(document)
    for section, objects in _with_slugs(old).items():
        gone = {slug for slug in objects if not pack.is_slot(section, slug)}
        if document.get(section):
            kept = by_slug(document, section).items()
            made[section] = [each for slug, each in kept if slug not in gone]
    return made


def own(old: Mapping[str, Any], pack: Pack, document: Mapping[str, Any]) -> dict[str, Any]:
    """The objects of a document that a version of a pack has, as the pack would write them."""
    site = unlabelled(old, pack, document)
    known = _with_slugs(old)
    return {
        section: [
            {"slug": slug, **each}
            for slug, each in by_slug(site, section).items()
            if slug in known[section]
        ]
        for section in SECTIONS
    }


def as_added(old: Mapping[str, Any]) -> dict[str, Any]:
    """The objects of a version of a pack as they were when it was added without enforcing."""
    return {
        section: [_harmless(section, each) for each in objects.values()]
        for section, objects in _with_slugs(old).items()
    }


def _with_slugs(definitions: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """The objects of each section by their slugs, which are written out.

    So an object stays that of the pack when the site changes its name.
    """
    return {
        section: {
            slug: {"name": each["name"], "slug": slug, **each}
            for slug, each in by_slug(definitions, section).items()
        }
        for section in SECTIONS
    }


def _labelled(pack: Pack) -> dict[str, dict[str, dict[str, Any]]]:
    """The objects of a pack with its name and version, except for slots, which are the site's."""
    return {
        section: {
            slug: each if pack.is_slot(section, slug) else _with_version(pack, each)
            for slug, each in objects.items()
        }
        for section, objects in _with_slugs(pack.definitions).items()
    }


def _with_version(pack: Pack, found: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the name and version of a pack among its labels, which follow its texts."""
    texts = {name: found[name] for name in ("name", "slug", "description") if name in found}
    labels = {**(found.get("labels") or {}), LABEL: pack.name, VERSION_LABEL: pack.version}
    return {**texts, "labels": labels} | {
        name: value for name, value in found.items() if name not in (*texts, "labels")
    }


def unlabelled(old: Mapping[str, Any], pack: Pack, document: Mapping[str, Any]) -> dict[str, Any]:
    """A document without the pack's labels at the objects of the pack.

    Args:
        old: the definitions of the version that the document has.
        pack: the pack.
        document: the site's document, as plain data.
    """
    made = dict(document)
    for section in SECTIONS:
        known = {*by_slug(old, section), *by_slug(pack.definitions, section)}
        if document.get(section):
            made[section] = [
                _without_version(each) if slug in known and has_label(pack, each) else each
                for slug, each in by_slug(document, section).items()
            ]
    return made


def _without_version(found: Mapping[str, Any]) -> dict[str, Any]:
    labels = {
        name: text for name, text in found["labels"].items() if name not in (LABEL, VERSION_LABEL)
    }
    rest = {name: value for name, value in found.items() if name != "labels"}
    return {**rest, "labels": labels} if labels else rest


def _with_labels(
    pack: Pack, before: Mapping[str, Any], merged: Mapping[str, Any]
) -> dict[str, Any]:
    """A merged document with the labels of the new version.

    An object that lost the labels doesn't get them back.
    """
    made = dict(merged)
    for section, objects in _labelled(pack).items():
        known = by_slug(before, section)
        if merged.get(section):
            made[section] = [
                _with_version(pack, each)
                if slug in objects
                and not pack.is_slot(section, slug)
                and (slug not in known or has_label(pack, known[slug]))
                else each
                for slug, each in by_slug(merged, section).items()
            ]
    return made
