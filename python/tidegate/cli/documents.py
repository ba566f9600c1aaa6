"""Definitions documents given to commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.findings.report import STANDARD_INPUT, refused_document
from tidegate.definitions import load_definitions, parse_definitions
from tidegate.errors import DefinitionsError
from tidegate.policy.document.tree import MAX_BYTES

if TYPE_CHECKING:
    from tidegate.policy.definitions.model import Definitions

definitions_argument = click.argument(
    "definitions", type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)


def read_definitions(name: str) -> Definitions:
    """Definitions from a file, or from standard input for ``-``.

    Raises:
        FindingsError: the document is rejected.
        click.UsageError: it cannot be read.
    """
    if name != "-":
        return read_definitions_file(Path(name))
    try:
        return parse_definitions(sys.stdin.buffer.read(MAX_BYTES + 1))
    except DefinitionsError as error:
        raise refused_document(STANDARD_INPUT, error) from None


def read_definitions_file(path: Path) -> Definitions:
    """Definitions from a file.

    Raises:
        FindingsError: the document is rejected.
        click.UsageError: it cannot be read.
    """
    try:
        return load_definitions(path)
    except DefinitionsError as error:
        raise refused_document(str(path), error) from None
    except OSError as error:
        raise click.UsageError(f"`{path}` cannot be read: {error.strerror}") from None
