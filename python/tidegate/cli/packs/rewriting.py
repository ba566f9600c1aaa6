"""Definitions documents that commands write again: read whole, checked, replaced at once."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.findings.report import refused_document
from tidegate.cli.output import errors
from tidegate.errors import DefinitionsError
from tidegate.packs import PackError
from tidegate.policy.document import parse_document
from tidegate.policy.document.plain_data import to_python
from tidegate.policy.document.tree import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def refused() -> Iterator[None]:
    """Report a pack or a document that can't be written, and exit with 1."""
    try:
        yield
    except PackError as error:
        errors.print(f"error: {error}", style="red", markup=False)
        sys.exit(1)


def read_text(path: Path) -> str | None:
    """The text of a document; None if the file doesn't exist.

    Raises:
        click.UsageError: it can't be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1).decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise click.UsageError(f"`{path}` cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"`{path}` isn't UTF-8") from None


def checked(path: Path, text: str) -> dict[str, Any]:
    """The plain data of a document that is valid."""
    try:
        parsed = parse_document(text)
        parsed.read()
    except DefinitionsError as error:
        raise refused_document(str(path), error) from None
    plain: dict[str, Any] = to_python(parsed.root)
    return plain


def replace(path: Path, content: bytes) -> None:
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
