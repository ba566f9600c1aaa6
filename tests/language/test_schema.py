"""The schema that a host declares."""

from __future__ import annotations

import pytest

from tidegate.language.tree.schema import Schema
from tidegate.types import BOOL, DYN, INT, NamedList, parse_type


def test_default_schema_is_the_field_model() -> None:
    """The stable fields are there with their types, and one of them is dynamic."""
    fields = Schema.default().fields
    assert fields["request.headers"] == parse_type("map(string, string)")
    assert fields["derived.asn"] is INT
    assert [name for name, kind in fields.items() if kind is DYN] == ["request.body"]


def test_additions_make_new_schemas() -> None:
    """Each addition gives another schema and leaves the first as it was."""
    base = Schema.default()
    grown = base.with_actions(["login"]).with_variables({"a.b": "int"}).with_entity_state()
    assert grown.fields["actions.login"] is BOOL
    assert grown.fields["a.b"] is INT
    assert "entity.event_count" in grown.fields
    assert "a" in grown.namespaces
    assert "actions.login" not in base.fields


def test_plain_lists_find_their_kind() -> None:
    """Entries that are all addresses or networks make an address list."""
    lists = (
        Schema.empty()
        .with_lists(
            {"a": ["192.0.2.1", "2001:db8::/32"], "b": ["192.0.2.1", "x"], "c": NamedList("ip", ())}
        )
        .lists
    )
    assert [lists[name].kind for name in "abc"] == ["ip", "string", "ip"]


def test_a_bad_type_is_refused() -> None:
    """A variable of no known type is an error of the host."""
    with pytest.raises(ValueError, match="unknown type"):
        Schema.empty().with_variables({"a": "integer"})
