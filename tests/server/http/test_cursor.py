"""Cursors are data under a MAC."""

from __future__ import annotations

import pytest

from tidegate_server.http.cursor import Cursors
from tidegate_server.http.problems import Problem
from tidegate_server.stores.index.catalog import MAX_NAME_CHARACTERS

KEY = bytes(range(32))
SCOPE = "/api/v1/tenants/1/actions?limit=5"


def opens(cursors: Cursors, cursor: str, scope: str = SCOPE) -> bool:
    try:
        cursors.open(cursor, scope)
    except Problem as problem:
        assert problem.code == "invalid-request"
        return False
    return True


def test_a_cursor_opens_to_its_position() -> None:
    """Numbers and texts come back as they were."""
    cursors = Cursors(KEY)
    assert cursors.open(cursors.seal([7, "a' OR 1=1"], SCOPE), SCOPE) == [7, "a' OR 1=1"]


@pytest.mark.parametrize("letter", ["a", "\x00", '"', "\N{GRINNING FACE}"])
def test_the_longest_place_opens(letter: str) -> None:
    """A cursor holds the longest names of the field catalog and of active mitigations."""
    cursors = Cursors(KEY)
    for place in (
        [f"request.query_params.{letter * MAX_NAME_CHARACTERS}"],
        ["01a20831-5fed-7121-b03e-6895d3945217", "p" * 64, letter * 200],
    ):
        assert cursors.open(cursors.seal(place, SCOPE), SCOPE) == place


def test_a_cursor_belongs_to_one_list_and_one_service() -> None:
    """Another list, another tenant or another key does not open it."""
    cursor = Cursors(KEY).seal([7], SCOPE)
    assert opens(Cursors(KEY), cursor)
    assert not opens(Cursors(KEY), cursor, SCOPE.replace("/1/", "/2/"))
    assert not opens(Cursors(bytes(32)), cursor)


def test_a_changed_cursor_does_not_open() -> None:
    """A cursor with any character changed does not open."""
    cursors = Cursors(KEY)
    cursor = cursors.seal([7, "x"], SCOPE)
    for at in range(len(cursor) - 1):
        other = "A" if cursor[at] != "A" else "B"
        assert not opens(cursors, cursor[:at] + other + cursor[at + 1 :])


@pytest.mark.parametrize("text", ["", "x", "é", "\x00", "=" * 8, "A" * 10_000, "../..", "W10"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    """Any other text is a refusal, never a failure."""
    assert not opens(Cursors(KEY), text)
