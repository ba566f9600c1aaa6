"""Opens the files of events, and shows how far they are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

import click
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tidegate.cli.output import errors, say_if_terminal
from tidegate.packed import unpacked

STANDARD_INPUT = "-"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def need_file(name: str) -> None:
    """Refuse a name that stands for no file, before anything is read.

    Raises:
        click.BadParameter: the file doesn't exist, or is a folder.
    """
    if name != STANDARD_INPUT and (not Path(name).exists() or Path(name).is_dir()):
        raise click.BadParameter(f"no such file: `{name}`")


class Meter:
    """How far files are read, in bytes as they are on the disk; in lines if that isn't known.

    Args:
        names: the files; the size of standard input, or of a pipe, isn't known.
    """

    STEP = 1_000
    """Lines between two drawings, which must not cost more than deciding."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        is_known = all(name != STANDARD_INPUT and Path(name).is_file() for name in names)
        self.total = sum(Path(name).stat().st_size for name in names) if is_known else None
        self._open: list[BufferedReader] = []
        self._closed = 0
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    @contextmanager
    def shown(self, wanted: bool) -> Iterator[Meter]:
        """Show a bar on standard error, if it is wanted."""
        if not wanted:
            yield self
            return
        known: tuple[ProgressColumn, ...] = (DownloadColumn(), TimeRemainingColumn())
        unknown: tuple[ProgressColumn, ...] = (MofNCompleteColumn(), TimeElapsedColumn())
        columns = (TextColumn("reading"), BarColumn(), *(known if self.total else unknown))
        with Progress(*columns, console=errors, transient=True) as self._progress:
            self._task = self._progress.add_task("events", total=self.total)
            yield self

    @contextmanager
    def measure(self, file: BufferedReader) -> Iterator[None]:
        """Count what is read of a file."""
        self._open.append(file)
        try:
            yield
        finally:
            self._open.remove(file)
            self._closed += file.tell() if self.total else 0

    @property
    def read(self) -> int:
        """The bytes that are read."""
        return self._closed + sum(file.tell() for file in self._open)

    def advance(self, number: int) -> None:
        """Move the bar.

        Args:
            number: of the line that was read last.
        """
        if self._progress is not None and self._task is not None and number % self.STEP == 0:
            self._progress.update(self._task, completed=self.read if self.total else number)


@contextmanager
def open_events(name: str, meter: Meter | None = None) -> Iterator[BinaryIO]:
    """The bytes of a file, or of standard input for ``-``, unpacked if they are packed."""
    need_file(name)
    is_input = name == STANDARD_INPUT
    if is_input:
        say_if_terminal("events")
    with open(sys.stdin.fileno() if is_input else name, "rb", closefd=not is_input) as raw:
        if raw.peek(2)[:2] in UTF_16:
            raise click.ClickException(f"`{name}` is UTF-16; `iconv -f UTF-16 -t UTF-8` mends it")
        with (meter or Meter()).measure(raw):
            yield unpacked(raw)
