"""The field catalog: the field model, actions, and what traffic has of captured names."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.deciding import Deciding, made

from tidegate.language.tree.schema import FIELD_MODEL
from tidegate.program import compile
from tidegate_server.records.catalog import DESCRIPTIONS, expression_of


def test_every_field_of_the_model_is_described() -> None:
    """The catalog describes exactly the fields of the model."""
    assert DESCRIPTIONS.keys() == FIELD_MODEL.keys()


def test_the_catalog_has_the_model_the_actions_and_what_was_captured(shop: Deciding) -> None:
    """Captured names with their share of the events."""
    for number in range(4):
        fields = {"account": f"a{number}", "n": number, "password": "hunter2", "body": "a=b"}
        shop.decide("/", fields=fields, request={"cookies": {"sid": "1"}})
    shop.decide("/", request={"headers": {"X-App": "shop"}})
    fields = _catalog(shop, "Analyst")
    assert fields.keys() >= FIELD_MODEL.keys()
    assert fields["derived.ip_subnet"]["group"] == "derived"
    assert fields["actions.login"] == {
        "tenant_id": shop.tenant_id,
        "name": "actions.login",
        "expression": "actions.login",
        "type": "bool",
        "group": "action",
        "description": "whether the action Login was recognised",
        "example": None,
        "events": None,
        "present": None,
        "fill_rate": None,
        "distinct_estimate": None,
        "last_seen_at": None,
        "top_values": None,
    }
    account = fields["fields.account"]
    assert (account["group"], account["type"]) == ("captured", "string")
    assert (account["fill_rate"], account["distinct_estimate"]) == (0.8, 4)
    assert (account["events"], account["present"]) == (5, 4)
    assert account["expression"] == "fields.account"
    assert account["example"] == "a3"
    assert fields["request.headers.x-app"]["expression"] == 'request.headers["x-app"]'
    assert fields["request.headers.x-app"]["fill_rate"] == 0.2
    for name in ("fields.password", "fields.body", "request.cookies.sid"):
        assert fields[name]["example"] is None, name


def _catalog(shop: Deciding, role: str) -> dict[str, Any]:
    return {each["name"]: each for each in shop.get("field-catalog", role=role, limit=500)}


NAMES = ["account", "x-app", "in", "true", "size", "as", "namespace", "1st", "", "a b", "q\"'q"]
NAMES += ["a\\b", "\r\nRemote-addr: x", "größe", "`", "\u202e", "\U0001f600", "has", "__proto__"]
SECTIONS = ("fields", "request.headers", "request.query_params", "request.cookies")


@pytest.mark.parametrize("name", [*NAMES, "a.b"])
@pytest.mark.parametrize("section", [*SECTIONS, "request.route_params"])
def test_the_expression_of_a_name_reads_its_value(section: str, name: str) -> None:
    """The expression of a captured name gives the value, whatever the name is."""
    place: dict[str, Any] = {name: "value"}
    event = {"fields": place} if section == "fields" else {"request": {section[8:]: place}}
    expression = expression_of(f"{section}.{name}", "string")
    assert compile(expression).evaluate(event) == "value"
    assert compile(f'{expression} == "value"').evaluate(event) is True


def test_the_checker_takes_the_expression_of_every_field(shop: Deciding) -> None:
    """Each expression of the catalog passes the check that saving it makes."""
    request = {section[8:]: dict.fromkeys(NAMES, "x") for section in SECTIONS[1:]}
    fields = {**dict.fromkeys(NAMES, "x"), "body": {"a": 1}}
    shop.decide("/", request=request, fields=fields)
    found = _catalog(shop, "Analyst")
    assert len([each for each in found.values() if each["events"] == 1]) == 4 * len(NAMES) + 1
    assert found["fields.body"]["expression"] == "request.body"
    for name, field in found.items():
        checked = made(
            shop.by("Analyst").post(
                f"/api/v1/{shop.path}/expressions/check",
                json={"expression": f"size([{field['expression']}]) == 1", "purpose": "condition"},
            )
        )
        assert checked["ok"], (name, checked)


def test_a_viewer_sees_no_text_of_events(shop: Deciding) -> None:
    """Text may be anything; numbers and bools are shown."""
    shop.decide("/", fields={"account": "ann@example.test", "n": 5, "list": ["a"]})
    seen = {role: _catalog(shop, role) for role in ("Viewer", "Analyst")}
    examples = {
        role: [fields[f"fields.{name}"]["example"] for name in ("account", "n", "list")]
        for role, fields in seen.items()
    }
    assert examples == {
        "Viewer": [None, "5", None],
        "Analyst": ["ann@example.test", "5", '["a"]'],
    }


def test_a_name_that_becomes_a_secret_has_no_example_any_more(shop: Deciding) -> None:
    """A name that becomes a secret loses its example, which may be in clear."""
    shop.decide("/", fields={"badge": "b-1"})
    assert _catalog(shop, "Analyst")["fields.badge"]["example"] == "b-1"
    answer = shop.by("Owner").patch(
        f"/api/v1/{shop.path}", json={"settings": {"redact": ["badge"]}}
    )
    assert answer.status_code == 200
    assert _catalog(shop, "Analyst")["fields.badge"]["example"] is None


def test_pages_of_the_catalog_join(shop: Deciding) -> None:
    """Pages of the catalog join in the order of the names."""
    names: list[str] = []
    path = f"/api/v1/{shop.path}/field-catalog?limit=7"
    while path:
        answer = shop.by("Owner").get(path)
        names += [each["name"] for each in made(answer)]
        path = answer.links["next"]["url"] if "next" in answer.links else ""
    assert names == sorted(set(names))
    assert set(names) >= FIELD_MODEL.keys()
