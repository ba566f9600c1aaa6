"""Reading events: JSON lines from a file or standard input, gzip or plain."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import attrs
import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tidegate.cli.output import errors

GZIP_MAGIC = b"\x1f\x8b"

events_argument = click.argument("events", default="-", type=click.Path(allow_dash=True))


@attrs.frozen
class Line:
    number: int
    text: bytes


@contextmanager
def open_events(name: str) -> Iterator[BinaryIO]:
    """The bytes of a file, or of standard input for ``-``, unpacked when they are gzip."""
    if name != "-" and not Path(name).is_file():
        raise click.BadParameter(f"there is no file `{name}`")
    with open(sys.stdin.fileno() if name == "-" else name, "rb", closefd=name != "-") as raw:
        if raw.peek(2)[:2] == GZIP_MAGIC:
            yield cast("BinaryIO", gzip.GzipFile(fileobj=raw))
        else:
            yield raw


def read_events(name: str, *, progress: bool = False) -> Iterator[Line]:
    """The non-blank lines of ``name`` with their numbers, from 1.

    With ``progress`` a bar on standard error says how far it is, when that
    is a terminal.
    """
    with open_events(name) as stream, _bar(progress and errors.is_terminal) as advance:
        try:
            for number, text in enumerate(stream, 1):
                advance(number)
                if not text.isspace():
                    yield Line(number, text)
        except (OSError, EOFError) as error:
            raise click.ClickException(f"`{name}` cannot be read to its end: {error}") from error


class _Advance:
    """Moves the bar every thousand lines: drawing must not cost more than deciding."""

    STEP = 1_000

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._task = progress.add_task("events", total=None) if progress else None

    def __call__(self, number: int) -> None:
        if self._progress is not None and self._task is not None and number % self.STEP == 0:
            self._progress.update(self._task, completed=number)


@contextmanager
def _bar(wanted: bool) -> Iterator[_Advance]:
    if not wanted:
        yield _Advance(None)
        return
    columns = (TextColumn("deciding"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        yield _Advance(progress)
