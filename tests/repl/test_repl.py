"""`tidegate repl`, driven through a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner

from tidegate.cli.main import tidegate

LINE = '192.0.2.{} - - [02/Mar/2026:10:00:00 +0000] "GET /{} HTTP/1.1" 200 5 "-" "curl/8"\n'
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Session:
    """A session at a terminal."""

    def __init__(self, folder: Path) -> None:
        log = folder / "access.log"
        log.write_text("".join(LINE.format(number, f"page{number}") for number in (1, 2)))
        environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "TERM": "xterm"}
        environment |= {"PYTHONPATH": ":".join(sys.path), "PROMPT_TOOLKIT_NO_CPR": "1"}
        command = [sys.executable, ["-m", "tidegate", "repl", str(log)]]
        self.child = pexpect.spawn(
            *command, timeout=60, dimensions=(24, 120), env=environment, encoding="utf-8"
        )
        self.seen = ""
        self.said("Ctrl-D ends")
        self.said(">")

    def said(self, text: str, seconds: float = 30) -> None:
        """Wait for a text, whatever colours are in it."""
        while text not in (plain := ESCAPES.sub("", self.seen)):
            self.seen += self.child.read_nonblocking(4096, timeout=seconds)
        self.seen = plain[plain.index(text) + len(text) :]

    def type(self, keys: str) -> None:
        self.child.send(keys)

    def end(self) -> int:
        self.type(":quit\r")
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert self.child.exitstatus is not None
        return int(self.child.exitstatus)


@pytest.fixture
def session(tmp_path: Path, process: None) -> Iterator[Session]:
    """A session over a log of two lines, with a history of its own."""
    opened = Session(tmp_path)
    yield opened
    opened.child.close(force=True)


def test_expressions_are_evaluated_against_the_chosen_event(session: Session) -> None:
    """A value is JSON, another event gives another one, and the end has exit code 0."""
    session.type("request.path\r")
    session.said('"/page1"')
    session.type(":next\r")
    session.said("2>")
    session.type('request.path + "!"\r')
    session.said('"/page2!"')
    session.type(":line 3\r")
    session.said("there are events 1 to 2")
    session.type(":nonsense\r")
    session.said("unknown command `:nonsense`")
    assert session.end() == 0


def test_a_wrong_expression_has_its_finding_and_the_session_goes_on(session: Session) -> None:
    """A finding has its code and hint, and a failure at run time its place."""
    session.type("request.pth\r")
    session.said("error[unknown-field]")
    session.said("request.path")
    session.type("int(request.path)\r")
    session.said("error[invalid_argument]")
    session.type("1 + 1\r")
    session.said("2")
    assert session.end() == 0


def test_tab_completes_a_field(session: Session) -> None:
    """The completions are those of the editors."""
    session.type("request.user_a\t")
    session.said("request.user_agent")
    session.type("\r")
    session.said('"curl/8"')
    assert session.end() == 0


def test_lines_are_kept_for_the_next_session(session: Session, tmp_path: Path) -> None:
    """The arrow up brings the last line of an earlier session; only its user can read the file."""
    session.type('"an earlier line"\r')
    session.said("an earlier line")
    assert session.end() == 0
    (history,) = tmp_path.rglob("repl-history")
    assert history.stat().st_mode & 0o077 == 0
    later = Session(tmp_path)
    for _ in range(20):  # earlier lines are loaded while the prompt is shown
        later.type("\x1b[A")
        with suppress(pexpect.TIMEOUT):
            later.said('"an earlier line"', seconds=1)
            break
    else:
        pytest.fail("the line of the earlier session isn't there")
    later.type("\x03")
    assert later.end() == 0


def test_a_pipe_is_refused() -> None:
    """Where nobody types, the command says which one to use."""
    done = CliRunner().invoke(tidegate, ["repl"], input="true\n")
    assert done.exit_code == 2
    assert "`tidegate eval` reads from a pipe" in done.output


def test_a_file_without_events_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session over nothing would answer nothing."""
    (tmp_path / "empty").write_text("")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    from tidegate.repl.command import _events

    with pytest.raises(Exception, match="has no event that can be read"):
        _events(str(tmp_path / "empty"))
