"""Answers as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from tidegate.server.hot import problem_answer
from tidegate.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.server.answer import Answer, Header


def begun(status: int, content_type: bytes, usual: list[Header]) -> bytes:
    """The head of an answer, up to the length of its body."""
    what = b"%bcontent-type: %b\r\n" % (STATUS_LINE[status], content_type)
    return what + lines(usual) + b"content-length: "


def lines(headers: Iterable[Header]) -> bytes:
    """Headers as they are sent."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def refusal(problem: Problem) -> Answer:
    """The answer to a request that will not be read to its end."""
    return problem_answer(problem, "/", str(uuid7()))
