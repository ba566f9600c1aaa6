"""A definitions document with packs, as a file and the record of its packs next to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from tidegate.cli.packs.rewriting import checked, read_text, replace
from tidegate.packs.editing import edit
from tidegate.packs.labels import definitions_in, version_in
from tidegate.packs.record import Record
from tidegate.policy.definitions.model import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.packs import Pack

_NEW = f"apiVersion: {API_VERSION}\n"


@attrs.define
class Document:
    """A document on its way to another version of itself.

    Attributes:
        path: its file.
        text: its text.
        plain: the text as plain data.
        record: the packs that it has.
    """

    path: Path
    text: str
    plain: dict[str, Any]
    record: Record

    @classmethod
    def read(cls, path: Path, *, may_be_new: bool = False) -> Document:
        """A valid document, with its packs."""
        text = read_text(path)
        if text is None:
            if not may_be_new:
                raise click.UsageError(f"no such file: `{path}`")
            text = _NEW
        plain = checked(path, text)
        return cls(path, text, plain, Record.of(path))

    def version_of(self, pack: Pack) -> str | None:
        """The version of a pack that the document has, by its labels or the record."""
        return version_in(pack, self.plain) or self.record.version_of(pack.name)

    def definitions_of(self, pack: Pack) -> Mapping[str, Any]:
        """The definitions of a pack as the document got them.

        The record has them also for packs that don't keep their earlier versions.

        Raises:
            PackError: the document doesn't have the pack, or has a version that isn't known.
        """
        recorded = self.record.version_of(pack.name)
        if recorded is not None and recorded == self.version_of(pack):
            return self.record.definitions_of(pack.name)
        return definitions_in(pack, self.plain)

    def write(self, after: dict[str, Any], drop_comments: bool) -> None:
        """Replace the document and the record of its packs, if the document is valid."""
        if after == self.plain:
            text = self.text
        else:
            text = edit(self.text, after, drop_comments=drop_comments)
        checked(self.path, text)
        replace(self.path, text.encode())
        if self.record.packs:
            replace(self.record.path, self.record.text())
        else:
            self.record.path.unlink(missing_ok=True)
