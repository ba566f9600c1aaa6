"""A shell on a terminal, and somebody who types into it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pexpect

PATIENCE = 120.0
"""Seconds that a line may take on a busy machine."""
PROMPT = re.compile(r"\[(\d+)\] ready> ")


class Terminal:
    """A shell that is waiting for a line."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.directory = directory
        self.environment = dict(environment)
        self._shell = pexpect.spawn(
            "bash",
            ["--norc", "--noprofile", "--noediting"],
            cwd=str(directory),
            env={**environment, "PS1": "[$?] ready> ", "TERM": "dumb", "COLUMNS": "200"},
            dimensions=(50, 200),
            encoding="utf-8",
            timeout=PATIENCE,
            echo=False,
        )
        self._shell.expect(PROMPT)

    def type(
        self,
        line: str,
        *,
        answers: Mapping[str, str] | None = None,
        code: int = 0,
        throttle: float = PATIENCE,
    ) -> str:
        """Type a line, answer what it asks, and give what it printed.

        Args:
            line: what to type; it may go on after a backslash.
            answers: what is asked, to what is then typed.
            code: the exit code it has to end with.
            patience: the seconds it may take.

        Raises:
            AssertionError: it ended with another code, or asked something else.
        """
        asked = list(answers or {})
        self._shell.sendline(line.replace("\\\n", ""))
        printed = ""
        while True:
            found = self._shell.expect([PROMPT, *map(re.escape, asked)], timeout=throttle)
            printed += self._shell.before + self._shell.match.group()
            if found == 0:
                break
            self._shell.sendline((answers or {})[asked[found - 1]])
        assert int(self._shell.match[1]) == code, f"{line}\n{printed}"
        return printed.replace("\r\n", "\n")

    def begin(self, line: str, until: str, *, throttle: float = PATIENCE) -> str:
        """Type a line that goes on, and give what it printed up to the end of a pattern.

        Args:
            line: what to type.
            until: the pattern.
            patience: the seconds it may take.

        Raises:
            AssertionError: it ended before.
        """
        self._shell.sendline(line)
        found = self._shell.expect([until, PROMPT], timeout=throttle)
        assert found == 0, f"{line}\n{self._shell.before}"
        return str(self._shell.before + self._shell.match.group())

    def read(self, until: str) -> None:
        """Wait for what a line in the background prints."""
        self._shell.expect(until)

    def interrupt(self) -> None:
        """Ctrl-C, and wait for the next prompt."""
        self._shell.sendintr()
        self._shell.expect(PROMPT)

    def close(self) -> None:
        """End what still runs, and the shell."""
        self._shell.sendintr()
        self._shell.sendline("kill $(jobs -p); wait; exit")
        self._shell.expect(pexpect.EOF)
        self._shell.close(force=True)


@contextmanager
def terminal(directory: Path, environment: Mapping[str, str]) -> Iterator[Terminal]:
    """A terminal for as long as the block runs."""
    opened = Terminal(directory, environment)
    try:
        yield opened
    finally:
        opened.close()
