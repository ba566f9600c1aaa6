"""How the log is written, and for whom."""

from __future__ import annotations

import asyncio
import io
import sys

import pytest
from structlog.testing import capture_logs

from tidegate_server.logging import configure, log, log_failure
from tidegate_server.settings.service import LogSettings


class Terminal(io.StringIO):
    """Standard error that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "is_json"), [(io.StringIO(), True), (Terminal(), False)])
def test_logs_are_text_on_a_terminal_and_json_elsewhere(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, is_json: bool
) -> None:
    """Without a setting people and programs each get the form that they can read."""
    monkeypatch.setattr(sys, "stderr", stream)
    configure(LogSettings())
    log.info("hello", number=1)
    assert stream.getvalue().startswith("{") is is_json
    assert "hello" in stream.getvalue()


def test_the_error_of_a_background_task_is_written() -> None:
    """Nobody awaits the task, and gathering it at the stop drops its error."""

    async def refuse() -> None:
        raise OSError("no disk")

    async def run() -> None:
        done, cancelled = asyncio.create_task(refuse()), asyncio.create_task(asyncio.sleep(60))
        for task in (done, cancelled):
            task.add_done_callback(log_failure)
        cancelled.cancel()
        await asyncio.gather(done, cancelled, return_exceptions=True)

    with capture_logs() as lines:
        asyncio.run(run())
    (line,) = lines
    assert line["event"] == "work in the background ended"
    assert line["work"].endswith("refuse")
    assert str(line["exc_info"]) == "no disk"


def test_a_set_up_is_for_loggers_that_have_logged_too() -> None:
    """A logger writes as the last set-up says, not as the set-up of its first line."""
    configure(LogSettings())
    log.info("first")
    configure(LogSettings())
    with capture_logs() as lines:
        log.info("second")
    assert [each["event"] for each in lines] == ["second"]
