"""Process many events: in batches, counting rejections, until the end or Ctrl-C."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Generic, TypeVar

import attrs
import click

from tidegate.cli.inputs.events import Line, Notes, Source, read_events
from tidegate.cli.output import errors
from tidegate.errors import EventError, TidegateError

T = TypeVar("T")
BATCH = 1_000
SUMMARISED = 10
"""The most refused lines of one kind that are shown before a summary, which counts all."""
INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells use it."""

_HINT = (
    "`json` is events as docs/fields.md has them; --input names another form, and for JSON or CSV"
    " with other names `tidegate mapping guess FILE` writes a file for --mapping"
)

max_refusals_option = click.option(
    "--max-refusals",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Stop after this many refused lines in a row; 0 goes on to the end.",
)


class TooManyRefusalsError(TidegateError):
    """Too many lines in a row were rejected: the input probably has another format."""

    code = "too-many-refusals"


@attrs.define
class Run(Generic[T]):
    """Applies a function to each event, and counts.

    Attributes:
        work: the function for one line; raises EventError if its event is rejected.
        max_refusals: stop after this many rejections in a row; 0 for never.
        refused: called with each rejection.
        seconds: time in ``work`` alone, without reading and printing.
        is_interrupted: whether Ctrl-C ended it.
        is_stopped: whether rejections ended it.
        in_order: whether the order of events matters to ``work``.
        notes: peculiarities of the lines read.
    """

    work: Callable[[Line], T]
    max_refusals: int
    refused: Callable[[Line, EventError], None]
    seconds: float = 0.0
    is_interrupted: bool = False
    is_stopped: bool = False
    in_order: bool = True
    notes: Notes = attrs.field(factory=Notes)
    _by_code: Counter[str] = attrs.field(factory=Counter)
    _in_a_row: int = 0
    _has_refused_event: bool = False
    _is_reading: bool = False

    def over(self, source: Source, *, progress: bool = False) -> Iterator[tuple[Line, T]]:
        """Each accepted event with its result, in order.

        Args:
            source: the events.
            progress: whether a summary is wanted: a progress bar is shown, and of each kind of
                refused lines the first, with the number of the others.
        """
        most = SUMMARISED if progress else sys.maxsize
        # The writer to standard input may wait for each answer.
        size = 1 if source.is_standard_input and not progress else BATCH
        with self._interruptible():
            try:
                lines = read_events(
                    source, progress=progress, notes=self.notes, in_order=self.in_order
                )
                yield from self._all(lines, size, most)
            except KeyboardInterrupt:
                self.is_interrupted = True
            except TooManyRefusalsError as error:
                self.is_stopped = True
                errors.print(f"error: {error}", style="red", markup=False)
        for code, count in self._by_code.items():
            if count > most:
                errors.print(
                    f"error[{code}]: {count - most:,} more lines", style="red", markup=False
                )
        if self._has_refused_event and not self.is_stopped:
            errors.print(f"hint: {_HINT}", markup=False)
        for warning in self.notes.warnings():
            errors.print(f"warning: {warning}", style="yellow", markup=False)

    def _all(self, lines: Iterator[Line], size: int, most: int) -> Iterator[tuple[Line, T]]:
        while batch := self._next(lines, size):
            for line, done in self._done(batch):
                if isinstance(done, EventError):
                    self._refuse(line, done, most)
                else:
                    self._in_a_row = 0
                    yield line, done
            if self.is_interrupted:
                return

    def _next(self, lines: Iterator[Line], size: int) -> list[Line]:
        self._is_reading = True
        try:
            # Ctrl-C may have come between two batches, where nothing interrupts a wait for input.
            return [] if self.is_interrupted else list(islice(lines, size))
        finally:
            self._is_reading = False

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C end the run after a batch, so that its decisions are counted.

        A wait for input ends immediately.
        """

        def interrupt(*_: object) -> None:
            self.is_interrupted = True
            if self._is_reading:
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def exit(self, code: int) -> None:
        """End the command.

        Args:
            code: exit code if all lines were read.
        """
        sys.exit(INTERRUPTED if self.is_interrupted else 1 if self.is_stopped else code)

    def _done(self, batch: list[Line]) -> list[tuple[Line, T | EventError]]:
        started = time.perf_counter()
        done = [(line, self._one(line)) for line in batch]
        self.seconds += time.perf_counter() - started
        return done

    def _one(self, line: Line) -> T | EventError:
        if line.error is not None:
            return line.error
        try:
            return self.work(line)
        except EventError as error:
            return error

    def _refuse(self, line: Line, error: EventError, most: int) -> None:
        self._by_code[error.code] += 1
        if self._by_code[error.code] <= most:
            errors.print(f"{line.place}: error[{error.code}]: {error}", style="red", markup=False)
        self.refused(line, error)
        self._has_refused_event |= error.code == EventError.code and "json" in self.notes.forms
        self._in_a_row += 1
        if self._in_a_row == self.max_refusals:
            raise TooManyRefusalsError(
                f"{self._in_a_row} lines in a row were refused, up to {line.place}; they were read"
                f" as {_either(self.notes.forms)}. {_HINT}; --max-refusals 0 goes on"
            )


def see_all(
    see: Callable[[bytes, int], None], events: Source, max_refusals: int
) -> tuple[Run[None], int, int]:
    """Show every event of a source and its time to a function; rejected ones are reported.

    Returns:
        The run, and how many events were accepted and rejected.
    """
    refused = 0

    def refuse(_line: Line, _error: EventError) -> None:
        nonlocal refused
        refused += 1

    run: Run[None] = Run(lambda line: see(line.text, line.nanoseconds), max_refusals, refuse)
    accepted = sum(1 for _ in run.over(events, progress=True))
    return run, accepted, refused


def _either(forms: set[str]) -> str:
    return " or ".join(f"`{form}`" for form in sorted(forms))
