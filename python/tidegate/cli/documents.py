"""Definitions documents given to commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.findings.report import file_name, refused_document
from tidegate.cli.output import say_if_terminal
from tidegate.errors import DefinitionsError
from tidegate.policy.document import read_document
from tidegate.policy.document.tree import MAX_BYTES

if TYPE_CHECKING:
    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.model import Definitions

definitions_argument = click.argument(
    "definitions", type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
_COUNTED = ("actions", "entities", "mitigations", "policies", "lists")


def read_definitions(name: str) -> Definitions:
    """Definitions from a file, or from standard input for ``-``.

    Raises:
        FindingsError: the document is rejected.
        click.UsageError: it cannot be read.
    """
    return read_compiled(name).compiled.source


def read_compiled(name: str, *, lint: bool = False) -> Compilation:
    """Compiled definitions with their warnings, from a file or, for ``-``, standard input.

    Args:
        name: the file.
        lint: whether the findings about definitions are included.

    Raises:
        FindingsError: the document is rejected.
        click.UsageError: it cannot be read.
    """
    text = read_bytes(name)
    try:
        return read_document(text, lint="" if lint else None)
    except DefinitionsError as error:
        raise refused_document(file_name(name), error) from None


def read_bytes(name: str) -> bytes:
    """The content of a document, or enough of it to reject it for its size.

    Raises:
        click.UsageError: it cannot be read.
    """
    try:
        if name == "-":
            say_if_terminal("a document")
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"`{name}` cannot be read: {error.strerror}") from None


def facts_of(compilation: Compilation) -> dict[str, int]:
    """How many objects of each kind definitions have."""
    source = compilation.compiled.source
    return {kind: len(getattr(source, kind)) for kind in _COUNTED}
