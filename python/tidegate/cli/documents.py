"""Definitions documents given to commands."""

from __future__ import annotations

import sys
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
    try:
        if name != "-":
            return load_definitions(name)
        return parse_definitions(sys.stdin.buffer.read(MAX_BYTES + 1))
    except DefinitionsError as error:
        raise refused_document(STANDARD_INPUT if name == "-" else name, error) from None
    except OSError as error:
        raise click.UsageError(f"`{name}` cannot be read: {error.strerror}") from None
