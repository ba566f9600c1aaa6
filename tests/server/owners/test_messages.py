"""The parts of a forwarded request."""

from __future__ import annotations

import pytest

from tidegate_server.owners.messages import Asked


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"/a", "/a", b""),
        (b"/a?", "/a", b""),
        (b"/a%3Fb?c=%31?d", "/a%3Fb", b"c=%31?d"),
        (b"/\xe9?\xff", "/\xe9", b"\xff"),
    ],
)
def test_a_target_is_divided_at_its_first_question_mark(
    target: bytes, path: str, query: bytes
) -> None:
    """Path and query are as they were written: nothing in them is decoded."""
    asked = Asked("GET", target, [], b"", None, "http")
    assert (asked.path, asked.query) == (path, query)
