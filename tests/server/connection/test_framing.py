"""Framing: no piece goes past the end of a request, and a head is read in one way or refused."""

from __future__ import annotations

from itertools import pairwise

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_server.connection.framing import body_length, line_problem, piece_end, request_line
from tidegate_server.http.problems import Problem

HOST = (b"host", b"t")
TEXTS = st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"\n\r\n", b"a", b"x: y"])).map(b"".join)


@given(text=TEXTS, cuts=st.lists(st.integers(0, 60), max_size=4))
def test_each_empty_line_is_the_end_of_a_piece(text: bytes, cuts: list[int]) -> None:
    """Pieces end at each empty line, however the text is cut, and all of it is given."""
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    ends, read = set(), 0
    for start, stop in pairwise(places):
        chunk, place = text[start:stop], 0
        while place < len(chunk):
            end = piece_end(chunk, place)
            assert place < end <= len(chunk)
            read += end - place
            place = end
            ends.add(start + place)
    assert read == len(text)
    found = text.find(b"\n\r\n")
    while found >= 0:
        assert found + 3 in ends
        found = text.find(b"\n\r\n", found + 1)


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        (b"", b""),
        (b"content-length: 3\r\n", b"a\n\r"),
        (b"transfer-encoding: chunked\r\n", b"3\r\n\n\r\n\r\n1;x=y\r\na\r\n0\r\n\r\n"),
        (b"transfer-encoding: chunked\r\n", b"1\r\na\r\n0\r\nx: y\r\n\r\n"),
    ],
)
def test_the_parser_ends_a_request_where_a_piece_ends(framing: bytes, body: bytes) -> None:
    """The parser ends a request with the last byte of a piece, and never before."""

    class Ended:
        count = 0

        def on_message_complete(self) -> None:
            self.count += 1

    ended = Ended()
    parser = httptools.HttpRequestParser(ended)
    whole = b"POST / HTTP/1.1\r\nhost: t\r\n%b\r\n%b" % (framing, body)
    for place in range(len(whole)):
        assert ended.count == 0
        parser.feed_data(whole[place : place + 1])
    assert ended.count == 1


@pytest.mark.parametrize(
    ("method", "version", "url", "headers", "length"),
    [
        (b"GET", "1.1", b"/", [HOST], 0),
        (b"GET", "1.0", b"/", [], 0),
        (b"GET", "1.0", b"/", [HOST], 0),
        (b"GET", "1.1", b"/?a=b", [HOST, (b"transfer-encoding", b"Chunked")], -1),
        (b"GET", "1.1", b"/", [HOST, (b"content-length", b"0")], 0),
        (b"GET", "1.1", b"/", [], None),
        (b"GET", "1.1", b"/", [HOST, HOST], None),
        (b"GET", "1.0", b"/", [HOST, HOST], None),
        (b"GET", "0.9", b"/", [HOST], None),
        (b"GET", "2.0", b"/", [HOST], None),
        (b"CONNECT", "1.1", b"t:1", [HOST], None),
        (b"GET", "1.1", b"/#a", [HOST], None),
        (b"GET", "1.1", b"/", [HOST, (b"content-length", b"01")], None),
        (b"GET", "1.0", b"/", [(b"transfer-encoding", b"chunked")], None),
        (b"GET", "1.1", b"/", [HOST, (b"transfer-encoding", b"gzip, chunked")],
         None),
    ],
)  # fmt: skip
def test_a_head_that_others_could_read_otherwise_is_refused(
    method: bytes, version: str, url: bytes, headers: list[tuple[bytes, bytes]], length: int | None
) -> None:
    """A head that can be read in two ways is refused; of any other the body's length is known."""
    found = body_length(method, version, url, headers)
    assert (None if isinstance(found, Problem) else found) == length


@pytest.mark.parametrize(
    "line",
    [
        b"GET  /a HTTP/1.1\r\n",
        b"GET /a  HTTP/1.1\r\n",
        b"GET\t/a HTTP/1.1\r\n",
        b"GET /a HTTP/1.1 \r\n",
        b" GET /a HTTP/1.1\r\n",
        b"GET /a HTTP/1.1\n",
    ],
)
def test_a_line_with_other_spaces_is_refused(line: bytes) -> None:
    """A request line is refused that differs from its parts with one space between them."""
    assert line_problem(b"GET /a HTTP/1.1\r\n", b"GET", "1.1", b"/a") is None
    assert line_problem(line, b"GET", "1.1", b"/a") is not None


@pytest.mark.parametrize("before", [b"", b"\r\n", b"\n\r\n"])
def test_the_request_line_is_found_however_it_arrives(before: bytes) -> None:
    """The request line is the first that is not empty, whole or in pieces."""
    line, received = b"GET /a HTTP/1.1\r\n", b""
    for at in range(len(sent := before + line)):
        received = request_line(received + sent[at : at + 1])
    assert received == request_line(sent + b"host: t\r\n") == line


@pytest.mark.parametrize("second", [b"chunked", b"identity"])
def test_the_parser_refuses_what_is_not_looked_at_twice(second: bytes) -> None:
    """A second coding, a second length, and both."""
    codings = b"transfer-encoding: chunked\r\ntransfer-encoding: %b\r\n" % second
    lengths = b"content-length: 1\r\ncontent-length: 1\r\n"
    both = b"content-length: 1\r\ntransfer-encoding: chunked\r\n"
    for framing in (codings, lengths, both, b"\r\n".join(reversed(both.split(b"\r\n")[:2]))):
        parser = httptools.HttpRequestParser(object())
        with pytest.raises(httptools.HttpParserError):
            parser.feed_data(b"POST / HTTP/1.1\r\nhost: t\r\n%b\r\n\r\n" % framing.strip())
