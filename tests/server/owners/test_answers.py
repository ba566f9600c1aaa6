"""Answers as gateways and owners exchange them."""

from __future__ import annotations

from tidegate_server.http.answer import Answer
from tidegate_server.http.exchange import headers_of
from tidegate_server.owners.answers import read_answer
from tidegate_server.owners.messages import Answered


def test_an_answer_keeps_its_headers_but_those_that_a_connection_writes() -> None:
    """Type and length are members of an answer or follow from it."""
    for answer in (
        Answer(b"{}"),
        Answer(b"[]", 429, ((b"retry-after", b"1"),), b"application/problem+json"),
    ):
        assert read_answer(Answered(answer.status, headers_of(answer), answer.body)) == answer
