"""The definitions document as JSON Schema agrees with the reader on members and their shapes."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from tests.integrations.conftest import DEFINITIONS

import tidegate
from tidegate.errors import DefinitionsError
from tidegate.policy.document import to_members
from tidegate.policy.document.schema import document_schema

VALID = jsonschema_rs.Draft202012Validator(document_schema())


def test_a_document_as_it_is_written_and_as_it_is_exported_fits() -> None:
    """Slugs and ids may be left out, and the exported form has them all."""
    assert VALID.is_valid(DEFINITIONS)
    assert VALID.is_valid(
        {**to_members(tidegate.parse_definitions(DEFINITIONS)), "apiVersion": "tidegate/v1"}
    )
    assert VALID.is_valid({"apiVersion": "tidegate/v1", "policies": None})


@pytest.mark.parametrize(
    "change",
    [
        {"apiVersion": "tidegate/v2"},
        {"polices": []},
        {"actions": [{"name": "No expression"}]},
        {"actions": [{"name": "a", "expression": 1}]},
        {"entities": [{"name": "a", "key_fields": []}]},
        {"mitigations": [{"name": "a", "mode": "Deny"}]},
        {"mitigations": [{"name": "a", "mode": "Block", "block": {"status_code": 200}}]},
        {"policies": [{"name": "a", "clauses": [{"window": {"threshold": 1}}]}]},
        {"lists": [{"name": "a", "kind": "cidr", "entries": []}]},
        {"settings": {"retention_days": 0}},
    ],
)
def test_the_schema_and_the_reader_refuse_the_same(change: dict[str, Any]) -> None:
    """Unknown and missing members, other types, other values and numbers out of bounds."""
    document = {**DEFINITIONS, **change}
    assert not VALID.is_valid(document)
    with pytest.raises(DefinitionsError):
        tidegate.parse_definitions(document)
