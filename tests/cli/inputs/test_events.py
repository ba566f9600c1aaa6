"""Lines of a file as events: numbers, bounds, forms."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import click
import pytest

import tidegate
from tidegate.cli.inputs.events import MAX_LINE_BYTES, Notes, Source, read_events
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
    """The command reports an archive that cannot be read to its end."""
    file = tmp_path / "events.gz"
    file.write_bytes(gzip.compress(b'{"fields":{}}\n' * 100_000)[:-20])
    with pytest.raises(click.ClickException, match="cannot be read to its end"):
        list(read_events(Source(str(file))))


LINE = '{} - - [02/Mar/2026:{}:00 +0000] "GET {} HTTP/1.1" 200 1 "-" "x"\n'


def test_several_files_are_merged_by_time(tmp_path: Path) -> None:
    """Logs of two servers give their events in the order of time, each with its file and line."""
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text(
        LINE.format("192.0.2.1", "10:00", "/1") + LINE.format("192.0.2.1", "12:00", "/3")
    )
    second.write_text(
        LINE.format("192.0.2.2", "11:00", "/2") + LINE.format("192.0.2.2", "13:00", "/4")
    )
    notes = Notes()
    lines = list(read_events(Source(str(first), others=(str(second),)), notes=notes))
    assert [json.loads(line.text)["request"]["path"] for line in lines] == ["/1", "/2", "/3", "/4"]
    assert [(line.file, line.number) for line in lines][1] == (str(second), 1)
    assert (notes.backward, notes.span) == (0, ("2026-03-02T10:00:00Z", "2026-03-02T13:00:00Z"))


def test_time_that_goes_back_is_counted_or_sorted(tmp_path: Path) -> None:
    """One file of two servers is warned about, with the first line and the way back."""
    path = tmp_path / "both.log"
    path.write_text(
        LINE.format("192.0.2.1", "12:00", "/2") + LINE.format("192.0.2.2", "11:00", "/1")
    )
    notes = Notes()
    list(read_events(Source(str(path)), notes=notes))
    (warning,) = notes.warnings()
    assert "goes back at 1 lines, by up to 3,600 s, first at line 2" in warning
    notes = Notes()
    lines = list(read_events(Source(str(path), sort=True), notes=notes))
    assert [line.number for line in lines] == [2, 1]
    assert notes.warnings() == []


@pytest.mark.parametrize("size", [20_000, 100_000, 3_000_000])
@pytest.mark.parametrize("attack", ["/?q={}&f=../../etc/passwd", "/{}/../../etc/passwd"])
def test_long_lines_are_cut_with_a_mark(tmp_path: Path, size: int, attack: str) -> None:
    """An attack at the end of a long line is still seen, and the event says that it was cut."""
    path = tmp_path / "long.log"
    path.write_text(LINE.format("192.0.2.1", "12:00", attack.format("A" * size)))
    notes = Notes()
    (line,) = read_events(Source(str(path)), notes=notes)
    assert line.error is None
    assert notes.cut == 1
    see = tidegate.compile(
        'fields.line_cut == "true" && request.client_ip == "192.0.2.1" && (request.path.contains('
        '"etc/passwd") || request.query_params.exists(k, request.query_params[k].contains("../")))'
    )
    assert see.evaluate(line.text) is True


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("GET / HTTP/1.1", "HTTP/1.1"),
        ("GET / HTTP/2.0", "HTTP/2"),
        ("GET /", ""),
        ("\\x16\\x03\\x01", ""),
        ("GET / HTTP/1.1.1", ""),
    ],
)
def test_a_protocol_that_cannot_be_read_is_counted_and_marked(
    tmp_path: Path, written: str, read: str
) -> None:
    """A rule sees the protocol by the name of its standard, or a mark and a warning."""
    path = tmp_path / "access.log"
    line = LINE.format("192.0.2.1", "12:00", "/").replace("GET / HTTP/1.1", written)
    path.write_text(LINE.format("192.0.2.1", "11:00", "/") + line)
    notes = Notes()
    _, event = read_events(Source(str(path)), notes=notes)
    see = tidegate.compile(f"request.protocol == {read!r}".replace("'", '"'))
    assert see.evaluate(event.text) is True
    marked = tidegate.compile('fields.protocol_unread == "true"').evaluate(event.text)
    assert (marked, notes.unread) == (not read, int(not read))
    warning = "1 request without a readable protocol such as `HTTP/1.1`, first at line 2"
    assert [each.partition(":")[0] for each in notes.warnings()] == ([] if read else [warning])


def test_an_absent_protocol_is_not_marked(tmp_path: Path) -> None:
    """A server writes `-` for a connection that sent no request."""
    path = tmp_path / "access.log"
    line = LINE.format("192.0.2.1", "12:00", "/").replace("GET / HTTP/1.1", "-")
    path.write_text(line)
    notes = Notes()
    (event,) = read_events(Source(str(path), FORMS["combined"]), notes=notes)
    assert (b"protocol" in event.text, notes.warnings()) == (False, [])


def test_an_event_over_the_bound_is_cut(tmp_path: Path) -> None:
    """Events in JSON are cut like lines of logs."""
    path = tmp_path / "events"
    event = {"request": {"path": "/" + "a" * 90_000 + "/etc/passwd"}}
    path.write_text(json.dumps(event))
    (line,) = read_events(Source(str(path)))
    assert tidegate.compile('request.path.endsWith("/etc/passwd")').evaluate(line.text) is True


def test_a_file_in_utf_16_is_refused_with_the_mend(tmp_path: Path) -> None:
    """A byte order mark of UTF-16 is told from an empty log."""
    path = tmp_path / "iis.log"
    path.write_bytes("#Fields: date".encode("utf-16"))
    with pytest.raises(click.ClickException, match="iconv"):
        list(read_events(Source(str(path))))
