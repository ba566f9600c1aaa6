"""Entity tags over revisions."""

from __future__ import annotations

import pytest

from tidegate_server.http.preconditions import entity_tag, is_unchanged, read_tags
from tidegate_server.http.problems import Problem


def lets_through(header: str, revision: int) -> bool:
    precondition = read_tags("if-match", header)
    assert precondition is not None
    try:
        precondition.require(revision)
    except Problem as problem:
        assert problem.code == "stale-revision"
        assert problem.headers["etag"] == entity_tag(revision)
        return False
    return True


@pytest.mark.parametrize("header", ['"3"', "*", '"2", "3"', '"2" ,"3"', ' "3" '])
def test_the_present_revision_lets_a_change_through(header: str) -> None:
    """A tag of the present revision passes, alone, in a list, or as any."""
    assert lets_through(header, 3)


@pytest.mark.parametrize("header", ['"2"', 'W/"3"', '"30"', '"03"'])
def test_another_revision_does_not(header: str) -> None:
    """A tag of another revision, or a weak tag, does not pass."""
    assert not lets_through(header, 3)


@pytest.mark.parametrize("header", ["3", '"3', "", '"3";"4"', "x" * 5_000, '"3" "4"'])
def test_what_is_no_list_of_tags_is_refused(header: str) -> None:
    """A header that is not a list of tags is refused, since it has two readings."""
    with pytest.raises(Problem) as raised:
        read_tags("if-match", header)
    assert raised.value.code == "malformed-request"


def test_no_header_is_no_precondition() -> None:
    """A change without a precondition is accepted."""
    assert read_tags("if-match", None) is None


def test_a_caller_that_has_it_already_is_recognised() -> None:
    """`If-None-Match` compares tags weakly, so a caller with the same revision gets 304."""
    assert is_unchanged('"3"', '"3"')
    assert is_unchanged('W/"3", "4"', '"3"')
    assert is_unchanged("*", '"3"')
    assert not is_unchanged('"4"', '"3"')
    assert not is_unchanged(None, '"3"')
    with pytest.raises(Problem):
        is_unchanged("3", '"3"')
