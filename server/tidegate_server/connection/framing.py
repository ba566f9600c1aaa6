"""Finding where requests begin and end, and refusing heads that can be read in two ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate_server.http.problems import Problem

if TYPE_CHECKING:
    from tidegate_server.http.answer import Header

VERSIONS = ("1.0", "1.1")
PIECE_BYTES = 4 * 1024
"""The size of the pieces in which bytes are parsed whose length the parser doesn't know."""


def piece_end(data: bytes, place: int) -> int:
    """Return the next place where a head, or a chunked body, can end.

    Both end with an empty line. A parser that gets such pieces one by one never gets a byte of the
    next request. The empty line may have begun in an earlier piece.

    Args:
        data: the received bytes.
        place: where the piece begins, in bytes.
    """
    if data.startswith(b"\n", place):
        return place + 1
    if data.startswith(b"\r\n", place):
        return place + 2
    most = min(len(data), place + PIECE_BYTES)
    found = data.find(b"\n\r\n", place, most)
    return most if found < 0 else found + 3


def request_line(received: bytes) -> bytes:
    """Return the first line of a head, as far as it was received.

    Empty lines before it are ignored (RFC 9112, 2.2).
    """
    line, end, _ = received.lstrip(b"\r\n").partition(b"\n")
    return line + end


def line_problem(line: bytes, method: bytes, version: str, url: bytes) -> Problem | None:
    """Return the refusal of a request line that others could split differently.

    The parser is lenient about space between its parts.

    Args:
        line: as it was received, with its end.
    """
    if line == b"%b %b HTTP/%b\r\n" % (method, url, version.encode()):
        return None
    return _malformed("one space each divides method, target and version")


def body_length(
    method: bytes, version: str, url: bytes, headers: Sequence[Header]
) -> int | Problem:
    """Return the length of the body after a head, in bytes; -1 if only its chunks tell.

    Args:
        headers: names in lower case.

    Returns:
        A problem for a head that is refused, as servers in front of us could read it differently.
    """
    hosts = length = 0
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"content-length":
            if value[:1] == b"0" and value != b"0":
                return _malformed("`content-length` begins with a zero")
            length = int(value)
        elif name == b"transfer-encoding":
            # The parser refuses a second one, and a length next to it.
            if version != "1.1" or value.lower() != b"chunked":
                return _malformed("the only `transfer-encoding` is `chunked`, in HTTP/1.1")
            length = -1
    if version not in VERSIONS:
        return _malformed("the protocol is HTTP/1.1 or HTTP/1.0")
    if hosts > 1 or not (hosts or version == "1.0"):
        return _malformed("there must be one `host` header")
    if method == b"CONNECT":
        return _malformed("this is no proxy")
    if b"#" in url:
        return _malformed("an address that is sent has no fragment")
    return length


def _malformed(detail: str) -> Problem:
    return Problem("malformed-request", detail)
