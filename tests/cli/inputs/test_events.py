"""Lines of a file as events: numbers, bounds, forms."""

from __future__ import annotations

import gzip
from pathlib import Path

import click
import pytest

from tidegate.cli.inputs.events import MAX_LINE_BYTES, Source, read_events
from tidegate.cli.inputs.forms import FORMS


def test_a_line_without_end_is_one_refusal(tmp_path: Path) -> None:
    """A line that is too long is never held whole, and the lines around it keep their numbers."""
    file = tmp_path / "events"
    file.write_bytes(b'{"fields":{}}\n' + b"x" * (5 * MAX_LINE_BYTES) + b'\n\n{"fields":{}}\n')
    first, long, last = read_events(Source(str(file)))
    assert (first.error, last.error) == (None, None)
    assert (first.number, long.number, last.number) == (1, 2, 4)
    assert long.error is not None
    assert long.error.code == "line-too-long"
    assert long.text == b""


def test_the_longest_line_is_no_refusal(tmp_path: Path) -> None:
    """The bound is of the line without its end, whichever end that is."""
    for end in (b"\n", b"\r\n", b""):
        file = tmp_path / "events"
        file.write_bytes(b"y" * MAX_LINE_BYTES + end)
        (line,) = read_events(Source(str(file), FORMS["json"]))
        assert line.error is None


def test_a_refused_line_of_a_log_has_its_number(tmp_path: Path) -> None:
    """Half a line in the middle, as a rotation leaves it."""
    good = '192.0.2.7 - - [11/Jan/2013:17:31:36 +0100] "GET / HTTP/1.1" 200 612 "-" "x"\n'
    file = tmp_path / "access.log.gz"
    file.write_bytes(gzip.compress((good + good[30:] + good).encode()))
    lines = list(read_events(Source(str(file))))
    assert [line.number for line in lines if line.error is not None] == [2]


def test_a_cut_archive_is_reported(tmp_path: Path) -> None:
    """What could be unpacked was read; then the command says so."""
    file = tmp_path / "events.gz"
    file.write_bytes(gzip.compress(b'{"fields":{}}\n' * 100_000)[:-20])
    with pytest.raises(click.ClickException, match="cannot be read to its end"):
        list(read_events(Source(str(file))))
