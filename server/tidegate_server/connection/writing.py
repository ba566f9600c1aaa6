"""Write answers as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from tidegate_server.hot.hot_path import problem_answer
from tidegate_server.http.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate_server.http.answer import Answer, Header


_success: tuple[list[Header], bytes] = ([], b"")
"""uvicorn's usual headers, which it replaces each second, and the start of a success with them."""


def answer_bytes(
    answer: Answer, usual: list[Header], keep_alive: bool, request_id: bytes | None
) -> bytes:
    """Return a complete answer as bytes.

    Args:
        usual: headers the headers of all answers.
        keep_alive: whether the connection is kept; otherwise the answer says that it closes.
        request_id: the caller's, if the answer doesn't have one already.
    """
    head = _begun(answer.status, answer.content_type, usual)
    return _whole(head, lines(answer.headers), answer.body, keep_alive, request_id)


def success_bytes(
    body: bytes, usual: list[Header], keep_alive: bool, request_id: bytes | None
) -> bytes:
    """Return the usual answer: a success with a JSON body and no headers of its own."""
    global _success
    headers, head = _success
    if headers is not usual:
        head = _begun(200, b"application/json", usual)
        _success = (usual, head)
    if keep_alive and request_id is None:
        return b"%b%d\r\n\r\n%b" % (head, len(body), body)
    return _whole(head, b"", body, keep_alive, request_id)


def _begun(status: int, content_type: bytes, usual: list[Header]) -> bytes:
    """Return the head of an answer, up to the length of its body."""
    what = b"%bcontent-type: %b\r\n" % (STATUS_LINE[status], content_type)
    return what + lines(usual) + b"content-length: "


def _whole(
    head: bytes, more: bytes, body: bytes, keep_alive: bool, request_id: bytes | None
) -> bytes:
    if request_id is not None:
        more += b"x-request-id: %b\r\n" % request_id
    if not keep_alive:
        more += b"connection: close\r\n"
    return b"%b%d\r\n%b\r\n%b" % (head, len(body), more, body)


def lines(headers: Iterable[Header]) -> bytes:
    """Return headers as they are sent."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def refusal(problem: Problem) -> Answer:
    """Return the answer to a request that won't be read to its end."""
    return problem_answer(problem, "/", str(uuid7()))
