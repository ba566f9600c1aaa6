"""The shapes on the wire have the bounds and defaults of the model."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import attrs
import msgspec
import pytest

from tidegate.policy.definitions import model, shapes
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire import tenants as wire_tenants
from tidegate_server.wire.common import given, time_text
from tidegate_server.wire.period import nanoseconds
from tidegate_server.wire.tenants import Address

PAIRS = [
    (wire_tenants.TenantSettings, model.Settings),
    (wire_definitions.ListCreate, model.NamedList),
    (wire_definitions.ActionCreate, model.Action),
    (wire_definitions.EntityDefinitionCreate, model.EntityDefinition),
    (wire_definitions.Challenge, model.Challenge),
    (wire_definitions.Block, model.Block),
    (wire_definitions.MitigationCreate, model.Mitigation),
    (wire_definitions.Window, model.Window),
    (wire_definitions.Clause, model.Clause),
    (wire_definitions.PolicyCreate, model.Policy),
    (wire_definitions.OverrideMembers, model.Override),
]
NAMES = {"action_ids": "actions", "entity_definition_id": "entity", "mitigation_id": "mitigation"}
FEWER = {"entries": 100_000}
"""Members of which a service takes fewer than a document: it writes a list whole at each change."""
MADE_FROM_THE_NAME = {"slug", "name"}
"""A slug, and the name of a clause, may be left out."""


def members() -> Iterator[Any]:
    for written, modelled in PAIRS:
        known = shapes.members(modelled)
        for attribute in attrs.fields(written):
            name = NAMES.get(attribute.name, attribute.name)
            yield pytest.param(
                written, attribute, known[name], id=f"{written.__name__}.{attribute.name}"
            )


@pytest.mark.parametrize(("written", "modelled"), PAIRS)
def test_nothing_is_left_out(written: Any, modelled: Any) -> None:
    """Every member of the model can be written, but the id."""
    names = {NAMES.get(each.name, each.name) for each in attrs.fields(written)}
    left_out = shapes.members(modelled).keys() - names
    assert all(name.endswith("_id") for name in left_out)


@pytest.mark.parametrize(("written", "attribute", "known"), list(members()))
def test_a_member_has_the_bounds_of_the_model(written: Any, attribute: Any, known: Any) -> None:
    """The documented bounds of a member are exactly those that are checked."""
    _, components = msgspec.json.schema_components([written])
    schema = components[written.__name__]["properties"][attribute.name]
    schema = next((arm for arm in schema.get("anyOf", ()) if arm != {"type": "null"}), schema)
    match shapes.shape_of(known):
        case shapes.Integer(minimum=low, maximum=high) | shapes.Number(minimum=low, maximum=high):
            assert (schema["minimum"], schema["maximum"]) == (low, high)
        case shapes.Choice(values=values):
            assert sorted(schema["enum"]) == sorted(values)
        case shapes.Text(minimum=low, maximum=high):
            assert (schema.get("minLength", 0), schema["maxLength"]) == (low, high)
        case shapes.Many(minimum=low, maximum=high):
            most = FEWER.get(attribute.name, high)
            assert (schema.get("minItems", 0), schema["maxItems"]) == (low, most)
        case shapes.Headers(maximum=high) | shapes.Labels(maximum=high):
            assert schema["maxProperties"] == high
    if attribute.name not in MADE_FROM_THE_NAME and attribute.name != "redact":
        assert attribute.default == known.default


def test_times_far_away_are_the_nearest_the_store_can_hold() -> None:
    """A search from the year 1 or until the year 9999 is a search."""
    assert nanoseconds(datetime(9999, 1, 1, tzinfo=UTC)) == 2**63 - 1
    assert nanoseconds(datetime(1, 1, 2, tzinfo=UTC)) == -(2**63)


def test_a_change_tells_left_out_from_null() -> None:
    """A change applies only the members that were written."""
    change = wire_definitions.EntityDefinitionChange(match_expression=None)
    assert given(change) == {"match_expression": None}


def test_times_are_texts_of_utc() -> None:
    """Times are texts in UTC to the millisecond, never rounded up."""
    assert time_text(0) == "1970-01-01T00:00:00.000Z"
    assert time_text(1_790_000_000_999_999_999) == "2026-09-21T14:13:20.999Z"


@pytest.mark.parametrize(
    ("shape", "text"),
    [(wire_common.Slug, "shop"), (wire_common.Identifier, "shop"), (Address, "a@b")],
)
def test_a_newline_at_the_end_is_no_part_of_a_name(shape: Any, text: str) -> None:
    """A pattern holds to the end of the text, and not to the end of its last line."""
    assert msgspec.convert(text, shape) == text
    with pytest.raises(msgspec.ValidationError, match="matching regex"):
        msgspec.convert(f"{text}\n", shape)


@pytest.mark.parametrize("control", ["\x1c", "\x1f", "\x85", "\x9f", "\xa0", "\ufeff", " "])
def test_an_address_has_no_control_wherever_one_counts_as_a_space(control: str) -> None:
    """Python and JSON Schema count other characters as spaces; both refuse each of them."""
    with pytest.raises(msgspec.ValidationError, match="matching regex"):
        msgspec.convert(f"a{control}@b", Address)
