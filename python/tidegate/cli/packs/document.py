"""A definitions document with packs, as a file and the record of its packs next to it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import attrs
import click

from tidegate.cli.findings.report import refused_document
from tidegate.errors import DefinitionsError
from tidegate.packs.editing import edit
from tidegate.packs.labels import definitions_in, version_in
from tidegate.packs.record import Record
from tidegate.policy.definitions.model import API_VERSION
from tidegate.policy.document import parse_document
from tidegate.policy.document.plain_data import to_python
from tidegate.policy.document.tree import MAX_BYTES

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
        try:
            with path.open("rb") as file:
                text = file.read(MAX_BYTES + 1).decode()
        except FileNotFoundError:
            if not may_be_new:
                raise click.UsageError(f"there is no file `{path}`") from None
            text = _NEW
        except OSError as error:
            raise click.UsageError(f"`{path}` cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise click.UsageError(f"`{path}` isn't UTF-8") from None
        plain = _checked(path, text)
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
        _checked(self.path, text)
        _replace(self.path, text.encode())
        if self.record.packs:
            _replace(self.record.path, self.record.text())
        else:
            self.record.path.unlink(missing_ok=True)


def _checked(path: Path, text: str) -> dict[str, Any]:
    """The plain data of a document that is valid."""
    try:
        parsed = parse_document(text)
        parsed.read()
    except DefinitionsError as error:
        raise refused_document(str(path), error) from None
    plain: dict[str, Any] = to_python(parsed.root)
    return plain


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that it is either as before or whole."""
    target = path.resolve()
    try:
        with NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            if target.exists():
                shutil.copymode(target, file.name)
            else:
                Path(file.name).chmod(0o644)
            Path(file.name).replace(target)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise click.UsageError(f"`{path}` cannot be written: {error.strerror}") from None
