"""Reading events: lines from a file or standard input, gzip or plain, in any of the forms."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import attrs
import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tidegate.cli.inputs.event import LongLineError
from tidegate.cli.inputs.forms import FORMS, Form, form_of, mapped_form
from tidegate.cli.output import errors
from tidegate.errors import EventError
from tidegate.limits import Limits

F = TypeVar("F", bound=Callable[..., Any])
GZIP_MAGIC = b"\x1f\x8b"
MAX_LINE_BYTES = Limits().event_bytes
"""The limit of an event; a longer line is never held whole."""
_SNIFFED = 20
"""Lines from which the form of the input is recognised."""
AUTO = "auto"


strictness_option = click.option(
    "--ignore-unknown",
    "strictness",
    flag_value="lenient",
    default="strict",
    help="Drop unknown members of events quietly; without it such an event is refused.",
)


@attrs.frozen
class Source:
    """The source of events, and the way to read their lines.

    Attributes:
        name: of a file; ``-`` is standard input.
        form: None tells the form from the first lines.
    """

    name: str
    form: Form | None = None

    @property
    def is_standard_input(self) -> bool:
        return self.name == "-"


@attrs.frozen
class Line:
    """One line: its event, or the reason why it has none."""

    number: int
    text: bytes
    error: EventError | None = None


def events_argument(command: F) -> F:
    """Give a command an argument and options that say where its ``events`` come from."""

    def source(context: click.Context, _parameter: click.Parameter, name: str) -> Source:
        form, mapping = context.params.pop("form"), context.params.pop("mapping")
        if mapping is not None:
            return Source(name, mapped_form(mapping))
        return Source(name, None if form == AUTO else FORMS[form])

    made = click.argument("events", default="-", type=click.Path(allow_dash=True), callback=source)(
        command
    )
    made = click.option(
        "--mapping",
        is_eager=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A YAML file that maps members of an event to names in lines of JSON.",
    )(made)
    return click.option(
        "--input",
        "form",
        is_eager=True,
        type=click.Choice([AUTO, *FORMS]),
        default=AUTO,
        show_default=True,
        help="The form of the lines: events as JSON, or an access log.",
    )(made)


@contextmanager
def open_events(name: str) -> Iterator[BinaryIO]:
    """The bytes of a file, or of standard input for ``-``, unpacked when they are gzip."""
    if name != "-" and (not Path(name).exists() or Path(name).is_dir()):
        raise click.BadParameter(f"there is no file `{name}`")
    with open(sys.stdin.fileno() if name == "-" else name, "rb", closefd=name != "-") as raw:
        if raw.peek(2)[:2] == GZIP_MAGIC:
            yield cast("BinaryIO", gzip.GzipFile(fileobj=raw))
        else:
            yield raw


def read_events(source: Source, *, progress: bool = False) -> Iterator[Line]:
    """The events of the non-blank lines of a source, with their numbers, from 1.

    With ``progress`` a bar on standard error says how far it is, when that
    is a terminal.
    """
    with open_events(source.name) as stream, _bar(progress and errors.is_terminal) as advance:
        try:
            lines = _numbered(stream)
            form = source.form
            if form is None:
                # Whoever writes to standard input may wait for the first answer.
                first = list(islice(lines, 1 if source.is_standard_input else _SNIFFED))
                form = form_of(text for _, text in first)
                lines = chain(first, lines)
            for number, text in lines:
                advance(number)
                yield _read(form, number, text)
        except (OSError, EOFError, zlib.error) as error:
            name = source.name
            raise click.ClickException(f"`{name}` cannot be read to its end: {error}") from error


def _numbered(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The non-blank lines; of one that is too long, only its beginning."""
    number = 0
    while text := stream.readline(MAX_LINE_BYTES + 2):
        number += 1
        rest = text
        while not rest.endswith(b"\n") and len(rest) == MAX_LINE_BYTES + 2:
            rest = stream.readline(MAX_LINE_BYTES + 2)
        if not text.isspace():
            yield number, text


def _read(form: Form, number: int, text: bytes) -> Line:
    if len(text.rstrip(b"\r\n")) > MAX_LINE_BYTES:
        error: EventError = LongLineError(f"the line has more than {MAX_LINE_BYTES:,} bytes")
        return Line(number, b"", error)
    try:
        return Line(number, form(text))
    except EventError as refused:
        return Line(number, text, refused)


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
