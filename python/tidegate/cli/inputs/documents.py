"""Documents named on the command line: files, folders and patterns."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from tidegate.cli.output import errors
from tidegate.testing.policies.finding import searched

F = TypeVar("F", bound=Callable[..., Any])
STANDARD_INPUT = "-"
_ENDINGS = (".yaml", ".yml", ".json")
_HEADER = re.compile(
    rb"""(?:^|[{,])\s*["']?apiVersion["']?\s*:\s*["']?tidegate(\.\w+)?/""", re.MULTILINE
)
DEFINITIONS = b""
_EXAMINED = 64 * 1024
_SHOWN = 5


def documents_argument(command: F) -> F:
    """Give a command the argument FILES: files, folders and patterns."""

    def expanded(
        _context: click.Context, _parameter: click.Parameter, names: tuple[str, ...]
    ) -> tuple[str, ...]:
        return tuple(documents(names))

    return click.argument("files", nargs=-1, callback=expanded)(command)


def documents(names: Iterable[str]) -> list[str]:
    """The files that names stand for, each once, in the order of the names.

    A folder stands for the definitions documents in it and below. Its other YAML and JSON files are
    named on standard error, except Tidegate's own of another kind, such as tests and records of
    packs. A pattern stands for every file that it matches.

    Args:
        names: files, folders, patterns with ``*``, ``?``, ``[`` or ``**``, and ``-``.

    Raises:
        click.UsageError: a name stands for nothing.
    """
    found: dict[str, None] = {}
    passed_over: list[str] = []
    for name in names:
        if name == STANDARD_INPUT or Path(name).is_file():
            found[name] = None
        elif Path(name).is_dir():
            found.update(dict.fromkeys(_in_folder(name, passed_over)))
        else:
            found.update(dict.fromkeys(_matching(name)))
    if passed_over:
        shown = ", ".join(passed_over[:_SHOWN]) + (", ..." if passed_over[_SHOWN:] else "")
        files = "1 file" if len(passed_over) == 1 else f"{len(passed_over)} files"
        message = f"passed over {files} without `apiVersion: tidegate/...`"
        errors.print(f"note: {message}: {shown}", markup=False)
    return list(found)


def _in_folder(folder: str, passed_over: list[str]) -> Iterator[str]:
    is_empty = True
    for path, folders, files in os.walk(folder):
        folders[:] = searched(path, folders)
        for file in sorted(each for each in files if each.lower().endswith(_ENDINGS)):
            name = str(Path(path, file))
            kind = _kind_of_file(name)
            if kind == DEFINITIONS:
                is_empty = False
                yield name
            elif kind is None:
                passed_over.append(name)
    if is_empty:
        raise click.UsageError(f"there are no definitions documents in `{folder}`")


def _matching(pattern: str) -> list[str]:
    found = sorted(each for each in glob.glob(pattern, recursive=True) if Path(each).is_file())
    if not found:
        raise click.UsageError(f"`{pattern}` isn't a file, and no file matches it as a pattern")
    return found


def is_document(text: bytes) -> bool:
    """Whether a text says that it is a definitions document."""
    return _kind(text) == DEFINITIONS


def _kind(text: bytes) -> bytes | None:
    """The kind that a text's first `apiVersion` of Tidegate names; none without one.

    A record of packs and a test may hold whole definitions documents, below their own version.
    """
    found = _HEADER.search(text[:_EXAMINED])
    return (found[1] or DEFINITIONS) if found else None


def _kind_of_file(name: str) -> bytes | None:
    try:
        with Path(name).open("rb") as file:
            return _kind(file.read(_EXAMINED))
    except OSError:
        return DEFINITIONS  # reading it says why it can't be read
