"""The OpenAPI document describes the routes, and the committed copy is current."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.server.serving import Served

from tidegate_server.http.problems import KINDS
from tidegate_server.routing.openapi import document, document_json
from tidegate_server.routing.route import PREFIX, Route
from tidegate_server.routing.routes import ROUTES

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"
OPERATIONS = {
    (method.upper(), path): operation
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
}


def test_the_committed_copy_is_current() -> None:
    """``python -m tidegate_server.routing.openapi > docs/openapi.json`` makes it so."""
    assert COMMITTED.read_bytes() == document_json()


def test_the_server_serves_the_same(served: Served) -> None:
    """The server serves the committed document."""
    answer = served.http.get("/openapi.json")
    assert answer.content == COMMITTED.read_bytes()
    assert answer.headers["content-type"] == "application/json"


def test_every_route_is_in_the_document_and_nothing_else() -> None:
    """The document has each route under each of its paths, with a unique name, and nothing else."""
    assert set(OPERATIONS) == {(each.method, path) for each in ROUTES for path in each.paths}
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_status_of_a_route_is_listed(route: Route) -> None:
    """The document lists success and every refusal of a route."""
    operation = OPERATIONS[(route.method, route.paths[0])]
    statuses = {route.status} | {KINDS[code].status for code in route.codes}
    assert {str(status) for status in statuses} <= set(operation["responses"])


def test_references_lead_somewhere() -> None:
    """Every schema that is named is there."""
    schemas = document()["components"]["schemas"]

    def check(value: Any) -> None:
        match value:
            case {"$ref": str(reference)}:
                assert reference.rpartition("/")[2] in schemas
            case dict():
                for each in value.values():
                    check(each)
            case list():
                for each in value:
                    check(each)

    check(json.loads(document_json()))


def test_what_the_layer_refuses_is_said() -> None:
    """Request shapes take no other members; those of events do."""
    schemas = document()["components"]["schemas"]
    assert schemas["PolicyCreate"]["additionalProperties"] is False
    assert schemas["Clause"]["additionalProperties"] is False
    assert "additionalProperties" not in schemas["Event"]
    assert "additionalProperties" not in schemas["Policy"]


def test_members_that_may_come_back_are_read_only() -> None:
    """The body of a write lists what the answer adds, and says that it cannot be changed."""
    schemas = document()["components"]["schemas"]
    for name in ("PolicyCreate", "PolicyChange", "ApiKeyChange", "TenantChange"):
        assert schemas[name]["properties"]["tenant_id"]["readOnly"] is True
        assert not schemas[name]["properties"]["name"].get("readOnly")
    assert "additionalProperties" not in schemas["DefinitionWarning"]


def test_a_path_without_the_prefix_is_deprecated() -> None:
    """Generators offer the path with the prefix; the other one goes on working."""
    for (_, path), operation in OPERATIONS.items():
        is_bare = path.startswith("/tenants")
        assert operation.get("deprecated", False) is is_bare
        assert not is_bare or ("/api/v1" + path) in document()["paths"]


def test_lists_of_events_have_names() -> None:
    """JSON comes first, and both lists of the bulk call are named schemas."""
    operation = document()["paths"]["/api/v1/beacon/events"]["post"]
    content = operation["requestBody"]["content"]
    assert list(content) == ["application/json", "application/x-ndjson"]
    assert content["application/json"]["schema"] == {"$ref": "#/components/schemas/EventBatch"}
    answered = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert answered == {"$ref": "#/components/schemas/BatchAnswer"}


NO_OBJECTS = {
    "check-expression": "a report on a text that is not kept",
    "read-definitions": "a definitions document, which names its tenant in `tenant`",
    "replace-definitions": "the differences of two documents",
    "read-timeline": "the numbers of a step of time",
    "simulate-policy": "a decision that is not kept",
    "preview-alert": "what an alert would have told, which is not kept",
    "lint-definitions": "counts of a look, with objects that name their tenant",
    "try-key": "figures of a definition that is not kept",
    "match-traffic": "counts of a look, with rows that name their tenant",
    "count-traffic-values": "counts of a look",
    "search-decisions": "a page of rows that name their tenant",
    "complete-expression": "texts that could be written",
    "read-language": "the language, which is the same for all tenants",
    "read-status": "figures of the service",
    "lift-mitigations": "a number",
    "list-busiest-entities": "counts over events",
    "list-agents": "counts over events",
    "list-entities-together": "counts over events",
    "read-key-health": "counts over events",
    "summarise-replay-differences": "counts over events",
}
"""Operations below a tenant that answer with no object of the tenant."""
BELOW_A_TENANT = {
    operation["operationId"]: operation
    for (_, path), operation in OPERATIONS.items()
    if "/tenants/{tenant_id}" in path
}


def answered(operation: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of what an operation answers, or of an item of its list; None for no body."""
    success = next(each for status, each in operation["responses"].items() if status[0] == "2")
    if "content" not in success:
        return None
    schema = success["content"]["application/json"]["schema"]
    schema = schema.get("items", schema)
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = document()["components"]["schemas"].get(name, schema)
    return found


@pytest.mark.parametrize("name", sorted(BELOW_A_TENANT))
def test_what_a_tenant_owns_names_its_tenant(name: str) -> None:
    """Every object that is answered below a tenant has ``tenant_id``."""
    schema = answered(BELOW_A_TENANT[name])
    if schema is None:
        return
    has = "tenant_id" in schema.get("required", ())
    assert has is (name not in NO_OBJECTS)


def test_the_document_has_a_version_of_its_own() -> None:
    """The page on versions names the version of the document, and its major is the prefix."""
    version = document()["info"]["version"]
    page = (COMMITTED.parent / "versions.md").read_text()
    assert f"`{version}`" in page
    assert PREFIX.endswith(f"/v{version.partition('.')[0]}")


EXAMPLES = [
    pytest.param(content, id=f"{operation['operationId']}-{part}")
    for operation in OPERATIONS.values()
    for part, holder in (
        ("body", operation.get("requestBody", {})),
        *operation["responses"].items(),
    )
    for content in holder.get("content", {}).values()
    if "example" in content
]
BARE = {"read-openapi"}
"""Answers that need no example."""


@pytest.mark.parametrize("content", EXAMPLES)
def test_an_example_is_what_its_schema_says(content: dict[str, Any]) -> None:
    """The schema accepts the example, formats too.

    ``python tools/examples.py`` makes the examples again after a change of a shape.
    """
    schema = {**content["schema"], "components": document()["components"]}
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    assert [str(each) for each in validator.iter_errors(content["example"])] == []


def test_bodies_and_answers_have_examples() -> None:
    """A reader sees a call and its answer for every operation that has JSON in it."""
    without = {
        operation["operationId"]
        for (method, _), operation in OPERATIONS.items()
        if not operation.get("deprecated")
        and not (
            ("requestBody" not in operation or "example" in _json(operation["requestBody"]))
            and all(
                "example" in _json(answer)
                for status, answer in operation["responses"].items()
                if status.startswith("2") and _json(answer)
            )
        )
    }
    assert without == BARE


def _json(holder: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = holder.get("content", {}).get("application/json", {})
    return found


def test_examples_have_no_secret() -> None:
    """Keys in examples are not real, and no address of a machine is in them."""
    text = document_json().decode()
    assert set(re.findall(r"tg_\w{12,}", text)) == {"tg_0123456789abcdef"}
    assert "127.0.0.1" not in text
