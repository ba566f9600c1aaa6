"""``tidegate repl``: its arguments, and the loop over lines."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import click

from tidegate.cli.output import console, errors
from tidegate.errors import TidegateError
from tidegate.lsp.events import Events
from tidegate.repl.answers import Answers

HISTORY = "repl-history"


@click.command()
@click.argument("events", required=False, type=click.Path(exists=True, dir_okay=False))
def repl(events: str | None) -> None:
    """Evaluate expressions as you type them, against an event of EVENTS.

    EVENTS is a file of events or an access log; its first 1,000 events are read. Without it the
    event is empty. :help lists the commands; Ctrl-D ends.
    """
    try:
        from tidegate.repl.terminal import Terminal
    except ModuleNotFoundError as error:
        if error.name != "prompt_toolkit":
            raise
        message = "`tidegate repl` needs prompt_toolkit: pip install 'tidegate[repl]'"
        raise click.UsageError(message) from None
    if not sys.stdin.isatty():
        message = "`tidegate repl` needs a terminal; `tidegate eval` reads from a pipe"
        raise click.UsageError(message)
    answers = Answers(_events(events))
    console.print(answers.introduction, markup=False)
    terminal = Terminal(answers.events, _history())
    with suppress(EOFError):
        while True:
            answers.to(terminal.read(answers.prompt))


def _events(name: str | None) -> Events:
    if name is None:
        return Events((b"{}",))
    try:
        found = Events.from_file(Path(name))
    except (OSError, TidegateError) as error:
        raise click.UsageError(f"`{name}` cannot be read: {error}") from None
    if not found.lines:
        raise click.UsageError(f"`{name}` has no event that can be read")
    if found.refused:
        errors.print(f"warning: {found.refused:,} lines were refused", style="yellow", markup=False)
    return found


def _history() -> Path | None:
    """The file of earlier lines; none where it can't be written."""
    folder = Path(click.get_app_dir("tidegate"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / HISTORY).touch(mode=0o600)
    except OSError as error:
        errors.print(f"note: no history is kept: {error}", markup=False)
        return None
    return folder / HISTORY
