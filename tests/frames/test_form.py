"""The names of columns."""

from __future__ import annotations

import json

import pytest

from tidegate.errors import EventError
from tidegate.event_form import Event, RequestContext
from tidegate.frames.form import KNOWN, literals, members_of


@pytest.mark.parametrize(
    ("column", "path", "kind"),
    [
        ("source", ("source",), "text"),
        ("observed_at", ("observed_at",), "moment"),
        ("request", ("request",), "object"),
        ("request.path", ("request", "path"), "text"),
        ("request.headers", ("request", "headers"), "object"),
        ("request.headers.x-app.id", ("request", "headers", "x-app.id"), "value"),
        ("fields.account", ("fields", "account"), "value"),
        ("fields.order.id", ("fields", "order.id"), "value"),
        ("agent.proof", ("agent", "proof"), "text"),
        ("geo.asn", ("geo", "asn"), "value"),
        ("plan.level", ("plan.level",), "variable"),
    ],
)
def test_a_column_is_named_after_a_member(column: str, path: tuple[str, ...], kind: str) -> None:
    """Dots lead into objects; the rest of the name is one name in a map."""
    (member,) = members_of([column], {"plan.level"})
    assert (member.path, member.kind) == (path, kind)


def test_every_member_of_an_event_has_a_column() -> None:
    """The names are those of the typed event, so that a new member has a column too."""
    members_of([name for name in Event.__annotations__ if name != "request"], ())
    members_of([f"request.{name}" for name in RequestContext.__annotations__], ())
    assert set(Event.__annotations__) <= set(KNOWN)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["request.pth"], "column `request.pth` isn't a member.*did you mean `request.path`"),
        (["label"], "column `label` isn't a member.*drop it, or name it `fields.label`"),
        (["fields."], "column `fields.` isn't a member of an event"),
        (["source", "source"], "two columns `source`"),
        (["request.headers.a", "request.headers"], "`request.headers.a` is a part of column"),
        (["fields", "fields.a"], "`fields.a` is a part of column `fields`; drop one"),
    ],
)
def test_other_names_are_refused(columns: list[str], message: str) -> None:
    """A name that is unknown, repeated or a part of another is refused with how to mend it."""
    with pytest.raises(EventError, match=message):
        members_of(columns, ())


def test_values_stand_in_their_objects() -> None:
    """The text around the values is the JSON of nested objects, in whichever order columns come."""
    paths = [("request", "path"), ("fields", 'a"b'), ("request", "headers", "x"), ("source",)]
    placed, after = literals(paths)
    text = "".join(f"{before}{number}" for number, before in placed) + after
    assert json.loads(text) == {
        "request": {"path": 0, "headers": {"x": 2}},
        "fields": {'a"b': 1},
        "source": 3,
    }
    assert literals([]) == ([], "{}")
