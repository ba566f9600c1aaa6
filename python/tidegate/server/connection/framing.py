"""Where a request begins and ends, and which heads can be read in one way only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.server.limits import MAX_HEADERS
from tidegate.server.problems import Problem

if TYPE_CHECKING:
    from tidegate.server.answer import Header

VERSIONS = ("1.0", "1.1")


def piece_end(data: bytes, place: int) -> int:
    """The next place behind which a head, or a chunked body, can be at its end.

    Both end with an empty line.  Whoever gives a parser one such piece after the other never
    gives it anything of the request behind.  The empty line may have begun in a piece before.

    Args:
        data: what was received.
        place: where the piece begins, in bytes.
    """
    if data.startswith(b"\n", place):
        return place + 1
    if data.startswith(b"\r\n", place):
        return place + 2
    found = data.find(b"\n\r\n", place)
    return len(data) if found < 0 else found + 3


def fault(method: bytes, version: str, url: bytes, headers: Sequence[Header]) -> Problem | None:
    """Why a head is not gone on with: others in front of us could read it in another way.

    Args:
        headers: names in lower case.
    """
    if len(headers) > MAX_HEADERS:
        return Problem("headers-too-large", f"a request has at most {MAX_HEADERS} headers")
    if version not in VERSIONS:
        return _malformed("the protocol is HTTP/1.1 or HTTP/1.0")
    if method == b"CONNECT":
        return _malformed("this is no proxy")
    if b"#" in url:
        return _malformed("an address that is sent has no fragment")
    hosts = len(values(headers, b"host"))
    if hosts > 1 or not (hosts or version == "1.0"):
        return _malformed("there must be one `host` header")
    if any(each[:1] == b"0" and each != b"0" for each in values(headers, b"content-length")):
        return _malformed("`content-length` begins with a zero")
    codings = values(headers, b"transfer-encoding")
    if codings and (version == "1.0" or [each.lower() for each in codings] != [b"chunked"]):
        return _malformed("the only `transfer-encoding` is `chunked`, in HTTP/1.1")
    return None


def values(headers: Sequence[Header], wanted: bytes) -> list[bytes]:
    """The values of a header, in order."""
    return [value for name, value in headers if name == wanted]


def _malformed(detail: str) -> Problem:
    return Problem("malformed-request", detail)
