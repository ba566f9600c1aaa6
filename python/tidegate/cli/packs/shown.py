"""The steps of packs, as commands print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from tidegate.cli.output import console
from tidegate.packs.merging import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.packs.merging import Change, Conflict

_SHOWN = 100
"""Characters of a value."""


def print_changes(changes: Iterable[Change]) -> None:
    """Print each change on a line."""
    for each in changes:
        text = f"  {each.place}: {_shown(each.before)} -> {_shown(each.after)}"
        console.print(text, markup=False)


def print_conflicts(conflicts: Iterable[Conflict]) -> None:
    """Print each conflict on a line."""
    for each in conflicts:
        text = (
            f"conflict: {each.place}: yours stays: {_shown(each.site)}; pack: {_shown(each.pack)}"
        )
        console.print(text, style="yellow", markup=False)


def print_notes(pack: Mapping[str, Any]) -> None:
    """Print the notes of a pack as a service answers it, and its slots as ``add`` takes them."""
    console.print(f"{pack['name']} {pack['version']}: {pack['summary']}", markup=False)
    if pack["installed_version"] is not None:
        console.print(f"added in version {pack['installed_version']}", markup=False)
    for title in ("needs", "catches", "misses", "hurts"):
        console.print(f"\n{title}")
        for note in pack[title]:
            console.print(f"  - {note}", markup=False)
    console.print(f"\nmeasured: {pack['measured']}\n", markup=False)
    for slot in pack["slots"]:
        console.print(f"--slot {slot['slug']}='{slot['guess']}'", markup=False)


def _shown(value: object) -> str:
    if value is ABSENT:
        return "absent"
    text = orjson.dumps(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def changes_of(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Changes for JSON output; null for a value that is absent."""
    return [
        {"place": each.place, "before": _plain(each.before), "after": _plain(each.after)}
        for each in changes
    ]


def conflicts_of(conflicts: Iterable[Conflict]) -> list[dict[str, Any]]:
    """Conflicts for JSON output."""
    return [
        {"place": each.place, "site": _plain(each.site), "pack": _plain(each.pack)}
        for each in conflicts
    ]


def _plain(value: Any) -> Any:
    """A value for JSON; null if it is absent."""
    return None if value is ABSENT else value
