"""The typed members of an event."""

from __future__ import annotations

import pytest

from tidegate import event_form
from tidegate.language.tree.schema import FIELD_MODEL

COMPUTED = {"request.raw_path", "request.arguments", "request.body"}
"""Fields of a request that are read from other members."""


@pytest.mark.parametrize(
    ("typed", "members"),
    [
        (event_form.Event, event_form.MEMBERS),
        (event_form.RequestContext, event_form.MEMBERS_OF_REQUEST),
        (event_form.AgentFinding, event_form.MEMBERS_OF_AGENT),
        (event_form.GeoFinding, event_form.MEMBERS_OF_GEO),
    ],
)
def test_the_types_have_the_members_that_are_read(typed: type, members: tuple[str, ...]) -> None:
    """A type checker knows exactly the members that an engine reads, and each may be left out."""
    assert typed.__annotations__.keys() == {*members}
    assert not typed.__required_keys__  # type: ignore[attr-defined]


def test_the_members_of_a_request_are_fields() -> None:
    """Each member of a request is a field of expressions, and each field of one is a member."""
    fields = {name for name in FIELD_MODEL if name.startswith("request.")} - COMPUTED
    assert fields == {f"request.{name}" for name in event_form.MEMBERS_OF_REQUEST}
