"""Answers to the lines of a session: values, findings, and commands that begin with a colon."""

from __future__ import annotations

import attrs
import orjson

from tidegate.cli.failure import failure_of
from tidegate.cli.findings.report import of_expression, print_text
from tidegate.cli.output import console, print_json
from tidegate.errors import EvaluationError, EventError, ExpressionError
from tidegate.lsp.events import Events
from tidegate.program import compile

HELP = """\
EXPRESSION     its value for the event
:event         the event as JSON
:next, :back   the event after or before
:line NUMBER   another event, counted from 1
:quit          ends, as Ctrl-D does"""


@attrs.define
class Answers:
    """The session: its events, and the one that expressions see.

    Attributes:
        events: those of the file.
        at: the index of the event.
    """

    events: Events
    at: int = 0

    @property
    def prompt(self) -> str:
        """The number of the event, where there are several."""
        return f"{self.at + 1}> " if len(self.events.lines) > 1 else "> "

    @property
    def introduction(self) -> str:
        """The first line of a session."""
        count = len(self.events.lines)
        read = "an empty event" if self.events.lines == (b"{}",) else f"{count:,} events"
        return f"{read}; :help lists the commands, Ctrl-D ends"

    def to(self, line: str) -> None:
        """Answer a line, on standard output.

        Raises:
            EOFError: it is ``:quit``.
        """
        text = line.strip()
        if text.startswith(":"):
            self._command(text)
        elif text:
            self._value(text)

    def _value(self, text: str) -> None:
        event = self.events.lines[self.at]
        try:
            program = compile(text)
            print_json(program.evaluate(program.prepare(event, events="lenient")))
        except ExpressionError as error:
            print_text(console, of_expression(text, error.diagnostics))
        except EvaluationError as error:
            message = failure_of(text, event, error)
            console.print(f"error[{error.code}]: {message}", style="red", markup=False)
        except EventError as error:
            console.print(f"error[{error.code}]: {error}", style="red", markup=False)

    def _command(self, text: str) -> None:
        match text.split():
            case [":quit"]:
                raise EOFError
            case [":help"]:
                console.print(HELP, markup=False)
            case [":event"]:
                event = orjson.loads(self.events.lines[self.at])
                shown = orjson.dumps(event, option=orjson.OPT_INDENT_2)
                console.print(shown.decode(), markup=False)
            case [":next"]:
                self._go(self.at + 1)
            case [":back"]:
                self._go(self.at - 1)
            case [":line", number] if number.isascii() and number.isdigit():
                self._go(int(number) - 1)
            case _:
                message = f"unknown command `{text}`; :help lists them"
                console.print(message, style="red", markup=False)

    def _go(self, at: int) -> None:
        if not 0 <= at < len(self.events.lines):
            message = f"there are events 1 to {len(self.events.lines):,}"
            console.print(message, style="red", markup=False)
            return
        self.at = at
