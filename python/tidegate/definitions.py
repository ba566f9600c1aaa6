"""Loads definitions from files; the only module about them that uses the file system."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.policy.document import read_document
from tidegate.policy.document.tree import MAX_BYTES

if TYPE_CHECKING:
    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.model import Definitions

Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"


def load_definitions(source: Source) -> Definitions:
    """Definitions from a YAML or JSON file, or from plain data of the same shape.

    Args:
        source: a path, or a mapping like a parsed document.

    Raises:
        DefinitionsError: the document is rejected; ``diagnostics`` has every finding, with JSON
            pointer, line and column.
        OSError: the file cannot be read.
    """
    return load_compiled(source).compiled.source


def parse_definitions(text: str | bytes) -> Definitions:
    """Definitions from the text of a document, YAML or JSON.

    Args:
        text: the document; bytes are UTF-8.

    Raises:
        DefinitionsError: as for :func:`load_definitions`.
    """
    return read_document(text).compiled.source


def load_compiled(source: Source, before: Compilation | None = None) -> Compilation:
    """Like :func:`load_definitions`, but with the compiled form and the warnings.

    Args:
        source: as for :func:`load_definitions`.
        before: as for :func:`tidegate.policy.document.read_document`.

    Raises:
        DefinitionsError: the document is rejected.
        OSError: the file cannot be read.
    """
    if isinstance(source, Mapping):
        return read_document(source, before)
    with Path(os.fspath(source)).open("rb") as file:
        # One byte above the limit is enough to reject it.
        return read_document(file.read(MAX_BYTES + 1), before)
