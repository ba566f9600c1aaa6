"""The packs that a document has: a file next to it, with each as it was added.

An update needs the earlier version, to tell the changes of the site from those of the pack.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.packs.objects import SECTIONS
from tidegate.packs.pack import PackError

if TYPE_CHECKING:
    from tidegate.packs.pack import Pack

API_VERSION = "tidegate.packs/v1"


@attrs.define
class Record:
    """The packs of a document.

    Attributes:
        path: the file.
        packs: name to version and definitions.
    """

    path: Path
    packs: dict[str, dict[str, Any]] = attrs.field(factory=dict)

    @classmethod
    def of(cls, document: Path) -> Record:
        """The record next to a document; empty without one.

        Raises:
            PackError: the file cannot be read.
        """
        path = document.with_name(document.stem + ".packs.json")
        try:
            found = orjson.loads(path.read_bytes())
        except FileNotFoundError:
            return cls(path)
        except (OSError, ValueError) as error:
            raise PackError(f"`{path}` cannot be read: {error}") from None
        if not isinstance(found, dict) or found.get("apiVersion") != API_VERSION:
            raise PackError(f"`{path}` lacks `apiVersion: {API_VERSION}`")
        packs = found.get("packs")
        if not isinstance(packs, dict) or not all(map(_is_entry, packs.values())):
            raise PackError(f"`{path}` isn't a record of packs")
        return cls(path, packs)

    def version_of(self, name: str) -> str | None:
        """The version of a pack that the document has."""
        found = self.packs.get(name)
        return None if found is None else str(found["version"])

    def definitions_of(self, name: str) -> dict[str, Any]:
        """The definitions of a pack as they were added.

        Raises:
            PackError: the document doesn't have the pack.
        """
        if name not in self.packs:
            raise PackError(f"`{self.path}` doesn't have the pack `{name}`")
        found: dict[str, Any] = self.packs[name]["definitions"]
        return found

    def put(self, pack: Pack) -> None:
        """Note that the document has a pack, in its version."""
        self.packs[pack.name] = {"version": pack.version, "definitions": dict(pack.definitions)}

    def text(self) -> bytes:
        """The content of the file."""
        return orjson.dumps(
            {"apiVersion": API_VERSION, "packs": self.packs},
            option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE,
        )


def _is_entry(found: object) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("version"), str):
        return False
    definitions = found.get("definitions")
    return isinstance(definitions, dict) and all(
        isinstance(each, dict) and isinstance(each.get("name"), str)
        for section in SECTIONS
        for each in definitions.get(section) or ()
    )
