"""Three-way updates: the site's changes stay, the pack's are taken, conflicts are reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.packs import BUNDLED, bundled_pack
from tidegate.packs.merging import ABSENT, Conflict, differences, merge
from tidegate.packs.objects import SECTIONS, by_slug

PACKS = {name: bundled_pack(name).definitions for name in BUNDLED}
VALUES = st.sampled_from([1, 2, 3, "a", "b", True, ["x"], {"threshold": 7}])


def parts(value: Any) -> Mapping[str, Any] | None:
    """The parts of an object, or of a list of named ones; None for anything else."""
    if isinstance(value, Mapping):
        return value
    is_named = (
        isinstance(value, list)
        and value
        and all(isinstance(each, Mapping) and "name" in each for each in value)
    )
    return {each["name"]: each for each in value} if is_named else None


def lost(before: Any, after: Any, merged: Any, place: str = "") -> Iterator[str]:
    """The places that one side changed and that aren't so in the merged document."""
    if before == after:
        return
    one, other, whole = {} if before is ABSENT else parts(before), parts(after), parts(merged)
    if one is not None and other is not None and whole is not None:
        for name in {*one, *other}:
            yield from lost(
                *(each.get(name, ABSENT) for each in (one, other, whole)), f"{place}.{name}"
            )
    elif place.endswith(".entries") and ABSENT not in (before, after):
        if not set(after) - set(before) <= set(merged) or set(before) - set(after) & set(merged):
            yield place
    elif merged != after:
        yield place


def all_lost(before: Any, after: Any, merged: Any) -> set[str]:
    return {
        found
        for section in SECTIONS
        for found in lost(*(by_slug(each, section) for each in (before, after, merged)), section)
    }


@st.composite
def changed(draw: st.DrawFn, document: dict[str, Any], prefix: str) -> dict[str, Any]:
    """A document with a few objects, clauses and members added, changed and removed."""
    made = deepcopy(document)
    for number in range(draw(st.integers(0, 6))):
        section = draw(st.sampled_from([each for each in SECTIONS if made.get(each)] or ["lists"]))
        objects = made.setdefault(section, [])
        kind = draw(st.sampled_from(["member", "drop", "object", "gone", "clause", "window"]))
        if kind == "object" or not objects:
            objects.insert(draw(st.integers(0, len(objects))), {"name": f"{prefix} {number}"})
            continue
        at = draw(st.integers(0, len(objects) - 1))
        found = objects[at]
        if kind == "gone":
            del objects[at]
        elif kind == "drop":
            others = [each for each in found if each not in ("name", "slug")]
            if others:
                del found[draw(st.sampled_from(others))]
        elif kind in ("clause", "window") and found.get("clauses"):
            clauses = found["clauses"]
            clause = draw(st.sampled_from(clauses))
            if kind == "window":
                clause["window"] = {
                    **clause.get("window", {}),
                    "threshold": draw(st.integers(1, 9)),
                }
            elif draw(st.booleans()):
                clauses.append({"name": f"{prefix} {number}", "final": True})
            elif len(clauses) > 1:
                clauses.remove(clause)
        else:
            found[draw(st.sampled_from(["enabled", "description", "priority"]))] = draw(VALUES)
    return made


@st.composite
def updates(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """An old pack, a site's document with it, and a new version of the pack."""
    base = dict(PACKS[draw(st.sampled_from(sorted(PACKS)))])
    return base, draw(changed(base, "Site")), draw(changed(base, "Pack"))


@settings(max_examples=200, deadline=None)
@given(updates())
def test_no_change_of_the_site_is_lost(
    update: tuple[dict[str, Any], dict[str, Any], dict[str, Any]],
) -> None:
    """Each place that the site changed is as the site wants it, for any new version."""
    base, site, new = update
    merged = merge(base, site, new)
    assert all_lost(base, site, merged.document) == set()


@settings(max_examples=200, deadline=None)
@given(updates())
def test_each_change_of_the_pack_is_taken_or_reported(
    update: tuple[dict[str, Any], dict[str, Any], dict[str, Any]],
) -> None:
    """Each place that the pack changed is in the document, or below a reported conflict."""
    base, site, new = update
    merged = merge(base, site, new)
    reported = {each.place for each in merged.conflicts}
    for place in all_lost(base, new, merged.document):
        assert any(f"{place}.".startswith(f"{each}.") for each in reported)


@settings(max_examples=100, deadline=None)
@given(updates())
def test_an_update_to_the_same_version_changes_nothing(
    update: tuple[dict[str, Any], dict[str, Any], dict[str, Any]],
) -> None:
    """Without a change of the pack the document stays as it is, order included."""
    base, site, _ = update
    merged = merge(base, site, base)
    assert (merged.document, merged.changes, merged.conflicts) == (site, (), ())


def test_both_changed_a_threshold() -> None:
    """The site's threshold stays, the conflict names both, and the rest is taken."""
    base = {"policies": [{"name": "P", "clauses": [clause(5, 60)]}]}
    site = {"policies": [{"name": "P", "clauses": [clause(9, 60)]}]}
    new = {"policies": [{"name": "P", "clauses": [clause(7, 30)]}]}
    merged = merge(base, site, new)
    assert merged.document == {"policies": [{"name": "P", "clauses": [clause(9, 30)]}]}
    assert merged.conflicts == (Conflict("policies.p.clauses.c.window.threshold", 9, 7),)


def clause(threshold: int, seconds: int) -> dict[str, Any]:
    return {"name": "c", "window": {"threshold": threshold, "duration_seconds": seconds}}


def test_entries_of_a_list_are_merged() -> None:
    """Entries that the site added stay, those that it removed don't come back."""
    base = {"lists": [{"name": "L", "entries": ["a", "b", "c"]}]}
    site = {"lists": [{"name": "L", "entries": ["a", "c", "mine"]}]}
    new = {"lists": [{"name": "L", "entries": ["b", "c", "theirs"]}]}
    merged = merge(base, site, new)
    assert merged.document == {"lists": [{"name": "L", "entries": ["c", "mine", "theirs"]}]}
    assert merged.conflicts == ()


@pytest.mark.parametrize("is_changed", [False, True])
def test_an_object_that_the_site_removed_stays_away(is_changed: bool) -> None:
    """It is a conflict only if the new version changed it."""
    base = {"actions": [{"name": "A", "expression": "true"}]}
    new = {"actions": [{"name": "A", "expression": "false" if is_changed else "true"}]}
    merged = merge(base, {"actions": []}, new)
    assert not merged.document.get("actions")
    assert [each.place for each in merged.conflicts] == (["actions.a"] if is_changed else [])


def test_a_new_clause_has_its_place() -> None:
    """A clause that the pack adds follows the one it follows there; the site's order stays."""
    names = lambda document: [each["name"] for each in document["policies"][0]["clauses"]]  # noqa: E731
    made = lambda *names: {"policies": [{"name": "P", "clauses": [{"name": n} for n in names]}]}  # noqa: E731
    assert names(merge(made("a", "b"), made("b", "a"), made("a", "x", "b")).document) == [
        "b",
        "a",
        "x",
    ]
    assert names(merge(made("a", "b"), made("a", "b", "s"), made("b", "a")).document) == [
        "b",
        "s",
        "a",
    ]
    swapped = merge(made("a", "b", "c"), made("b", "a", "c"), made("c", "b", "a"))
    assert names(swapped.document) == ["b", "a", "c"]
    assert [each.place for each in swapped.conflicts] == ["policies.p.clauses (order)"]


def test_differences_name_each_place() -> None:
    """Objects, members, clauses and their members, with both values."""
    before = {"policies": [{"name": "P", "clauses": [clause(5, 60)]}], "actions": [{"name": "A"}]}
    after = {"policies": [{"name": "P", "clauses": [clause(6, 60)]}]}
    found = {each.place: (each.before, each.after) for each in differences(before, after)}
    assert found == {
        "actions.a": ({"name": "A"}, ABSENT),
        "policies.p.clauses.c.window.threshold": (5, 6),
    }
