"""Reads events: lines from files or standard input, packed or plain, in any supported format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from heapq import merge
from itertools import chain, islice
from typing import Any, BinaryIO, TypeAlias, TypeVar

import attrs
import click
import orjson

from tidegate.cli.inputs.errors import LongLineError
from tidegate.cli.inputs.event import CUT, MAX_STRING, PROTOCOL_UNREAD, cut
from tidegate.cli.inputs.forms import FORMS, Form, form_of, mapped_form
from tidegate.cli.inputs.mapping import PRESETS
from tidegate.cli.inputs.opening import Meter, need_file, open_events
from tidegate.cli.inputs.prefixes import partial_content, without_carrier
from tidegate.cli.output import counted, errors
from tidegate.errors import EventError
from tidegate.limits import Limits
from tidegate.packed import UNREADABLE

F = TypeVar("F", bound=Callable[..., Any])
MAX_LINE_BYTES = Limits().event_bytes
"""The limit of an event; a longer line is never in memory as a whole."""
HELD_BYTES = 1024 * 1024
"""Most of a line that is kept."""
JITTER_SECONDS = 10.0
"""Servers write a line at the end of a request, with its start time, so going back this far is
normal."""
_OBSERVED = b'{"observed_at":"'
_MARK = f'"{CUT}":true'.encode()
_UNREAD = f'"{PROTOCOL_UNREAD}":true'.encode()
_SNIFFED = 20
"""Lines used to detect the input's format."""
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
    """The source of events, and how to read its lines.

    Attributes:
        name: a file's name; ``-`` is standard input.
        form: None detects the format from each file's first lines.
        others: more files, merged with the first by time.
        sort: whether to read all lines first and sort them by time.
    """

    name: str
    form: Form | None = None
    others: tuple[str, ...] = ()
    sort: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.others)

    @property
    def is_standard_input(self) -> bool:
        return "-" in self.names


@attrs.define
class Line:
    """One line: its event, or the reason it has none.

    Attributes:
        file: its name; None if only one is read.
        time: when the event was observed, in seconds since 1970; None if it doesn't say, or if the
            lines are read for no order.
    """

    number: int
    text: bytes
    error: EventError | None = None
    file: str | None = None
    time: float | None = None

    @property
    def nanoseconds(self) -> int:
        """When the event was observed, in nanoseconds since 1970; 0 if it doesn't say."""
        return round((self.time or 0) * 1_000_000_000)

    @property
    def place(self) -> str:
        """The line's location for messages."""
        return f"line {self.number}" if self.file is None else f"{self.file}, line {self.number}"

    def to_dict(self) -> dict[str, Any]:
        """The line's location for JSON output."""
        return {"line": self.number} | ({} if self.file is None else {"file": self.file})


@attrs.define
class Notes:
    """Peculiarities of the lines read.

    Attributes:
        forms: names of the formats of the files.
        passed_over: lines that aren't about requests, such as headers and lines of error logs.
        cut: events truncated because a line was too long.
        unread: events whose protocol can't be read.
        first_unread: the first such line.
        backward: events with a time before an earlier event's.
        most_backward: the longest way back, in seconds.
        first_backward: the first such line.
    """

    passed_over: int = 0
    cut: int = 0
    unread: int = 0
    first_unread: Line | None = None
    backward: int = 0
    most_backward: float = 0.0
    first_backward: Line | None = None
    forms: set[str] = attrs.field(factory=set)
    _earliest: float | None = None
    _latest: float | None = None

    @property
    def span(self) -> tuple[str, str] | None:
        """The times of the first and the last event; None if none has a time."""
        if self._earliest is None or self._latest is None:
            return None
        return _rfc3339(self._earliest), _rfc3339(self._latest)

    def see(self, line: Line) -> None:
        """Count a line, and how far it goes back from the latest before it."""
        time = line.time
        self.cut += len(line.text) > MAX_STRING and _MARK in line.text
        if _UNREAD in line.text:
            self.unread += 1
            self.first_unread = self.first_unread or line
        if time is None:
            return
        self._earliest = time if self._earliest is None else min(self._earliest, time)
        if self._latest is None or time >= self._latest:
            self._latest = time
            return
        if self._latest - time > JITTER_SECONDS:
            self.backward += 1
            self.first_backward = self.first_backward or line
        self.most_backward = max(self.most_backward, self._latest - time)

    def warnings(self) -> list[str]:
        """Warnings for the command's user, as sentences."""
        found = []
        if self.first_backward is not None:
            found.append(
                f"the time goes back at {self.backward:,} lines, by up to"
                f" {self.most_backward:,.0f} s, first at {self.first_backward.place}: windows need"
                " events in order; --sort sorts them, and several files are merged by time"
            )
        if self.first_unread is not None:
            found.append(
                f"{counted(self.unread, 'request')} without a readable protocol such as `HTTP/1.1`,"
                f" first at {self.first_unread.place}: `request.protocol` is empty there, and"
                f" `fields.{PROTOCOL_UNREAD}` marks it"
            )
        if self.cut:
            found.append(
                f"{self.cut:,} events were too long; their longest texts are cut in the middle,"
                f" and `fields.{CUT}` marks them"
            )
        return found


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _source(context: click.Context, names: tuple[str, ...]) -> Source:
    form, mapping = context.params.pop("form"), context.params.pop("mapping")
    sort = context.params.pop("sort")
    first, *others = names or ("-",)
    made = Source(first, others=tuple(others), sort=sort)
    for name in made.names:
        need_file(name)
    if mapping is not None:
        if form not in (AUTO, "json", "csv"):
            raise click.UsageError(f"--mapping is about JSON and CSV, not `--input {form}`")
        return attrs.evolve(made, form=mapped_form(mapping, is_csv=form == "csv"))
    return attrs.evolve(made, form=None if form == AUTO else FORMS[form])


def events_argument(command: F) -> F:
    """Give a command an argument and options for the source of its ``events``."""

    def source(
        context: click.Context, _parameter: click.Parameter, names: tuple[str, ...]
    ) -> Source:
        return _source(context, names)

    made = click.argument("events", nargs=-1, type=click.Path(allow_dash=True), callback=source)(
        command
    )
    return _with_forms(made)


def events_option(command: F) -> F:
    """Give a command the option ``--events``, which may be left out, and options for its form."""

    def source(
        context: click.Context, _parameter: click.Parameter, names: tuple[str, ...]
    ) -> Source | None:
        made = _source(context, names)
        return made if names else None

    made = click.option(
        "--events",
        multiple=True,
        type=click.Path(allow_dash=True),
        callback=source,
        help="Events, whose traffic is examined, too; may be given several times.",
    )(command)
    return _with_forms(made)


def _with_forms(command: F) -> F:
    made = click.option(
        "--sort",
        is_eager=True,
        is_flag=True,
        help="Read all lines first, and put them in the order of their times.",
    )(command)
    made = click.option(
        "--mapping",
        is_eager=True,
        metavar="FILE|" + "|".join(PRESETS),
        help="A YAML file, or a known one, that maps members of an event to names in lines of JSON"
        " or columns of CSV.",
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


def read_events(
    source: Source, *, progress: bool = False, notes: Notes | None = None, in_order: bool = True
) -> Iterator[Line]:
    """The events in a source's non-blank lines, with line numbers from 1.

    Args:
        source: the files; several are merged by their events' times.
        progress: whether to show a progress bar on standard error, if it is a terminal.
        notes: counts peculiarities.
        in_order: whether times matter; otherwise several files are read one after another.
    """
    notes = Notes() if notes is None else notes
    is_one = not source.others
    with Meter(source.names).shown(progress and errors.is_terminal) as meter:
        files = [
            _lines(source, name, None if is_one else name, notes, meter) for name in source.names
        ]
        timed = [_timed(lines, in_order or source.sort) for lines in files]
        merged: Iterator[_Timed] = (
            merge(*timed, key=_by_time) if in_order else chain.from_iterable(timed)
        )
        if source.sort:
            merged = iter(sorted(merged, key=_by_time))
        for number, (_, line) in enumerate(merged, 1):
            meter.advance(number)
            notes.see(line)
            yield line


_Timed: TypeAlias = "tuple[float, Line]"
"""The time that a line is sorted by, and the line."""


def _by_time(timed: _Timed) -> float:
    return timed[0]


def _timed(lines: Iterator[Line], wanted: bool) -> Iterator[_Timed]:
    """Lines with their times; a line without one stays with the line before it."""
    latest = float("-inf")
    for line in lines:
        if wanted and line.error is None:
            line.time = time_of(line.text)
        latest = latest if line.time is None else line.time
        yield latest, line


def time_of(event: bytes) -> float | None:
    """An event's ``observed_at`` in seconds since 1970; None if it has none."""
    if event.startswith(_OBSERVED):
        text = event[len(_OBSERVED) : event.find(b'"', len(_OBSERVED))].decode()
    else:
        try:
            text = orjson.loads(event).get("observed_at")
        except (ValueError, AttributeError):
            return None
    try:
        return datetime.fromisoformat(text.upper()).timestamp()
    except (AttributeError, ValueError):
        return None


def _lines(
    source: Source, name: str, file: str | None, notes: Notes, meter: Meter
) -> Iterator[Line]:
    with open_events(name, meter) as stream:
        try:
            lines = _numbered(stream)
            form = source.form
            if form is None:
                # A program that writes to standard input may wait for the first answer.
                first = list(islice(lines, 1 if name == "-" else _SNIFFED))
                form = form_of(text for _, text in first)
                lines = chain(first, lines)
            form = form.fresh()
            notes.forms.add(form.name)
            for number, text in lines:
                line = _read(form, number, text, file)
                if line is None:
                    notes.passed_over += 1
                else:
                    yield line
        except UNREADABLE as error:
            raise click.ClickException(f"`{name}` cannot be read to its end: {error}") from error


def _numbered(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The non-blank lines. Those split by Kubernetes are joined; overlong ones keep their beginning
    and end."""
    number = 0
    before = b""
    while text := _whole(stream):
        number += 1
        part = partial_content(text)
        if part is not None:
            before = _held(before + part)
            continue
        if before:
            text = _held(before + without_carrier(text))
            before = b""
        if not text.isspace():
            yield number, text
    if before:
        yield number, before


def _whole(stream: BinaryIO) -> bytes:
    text = stream.readline(HELD_BYTES)
    last = text
    while last and not last.endswith(b"\n") and len(last) == HELD_BYTES:
        last = stream.readline(HELD_BYTES)
        text = _held(text + last)
    return text


def _held(text: bytes) -> bytes:
    """The kept parts of a text: its beginning and end."""
    return text if len(text) <= HELD_BYTES else text[: HELD_BYTES // 2] + text[-HELD_BYTES // 2 :]


def _read(form: Form, number: int, text: bytes, file: str | None) -> Line | None:
    is_long = len(text.rstrip(b"\r\n")) > MAX_LINE_BYTES
    try:
        event = form(text)
        if event is None:
            return None
        return Line(number, _cut(event) if is_long else event, None, file)
    except EventError as refused:
        if is_long:
            error = LongLineError(
                f"the line has more than {MAX_LINE_BYTES:,} bytes, and the rest of it isn't"
                f" readable: {refused}"
            )
            return Line(number, b"", error, file)
        return Line(number, text, refused, file)


def _cut(event: bytes) -> bytes:
    try:
        found = orjson.loads(event)
    except ValueError as error:
        raise EventError(str(error)) from None
    if not isinstance(found, dict):
        raise EventError("it isn't an object")
    return cut(event, found)
