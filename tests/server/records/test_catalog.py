"""The field catalog: the field model, actions, and what traffic has of captured names."""

from __future__ import annotations

from typing import Any

from tests.server.deciding import Deciding, made

from tidegate.language.tree.schema import FIELD_MODEL
from tidegate.server.records.catalog import DESCRIPTIONS


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
        "name": "actions.login",
        "type": "bool",
        "group": "action",
        "description": "whether the action Login was recognised",
        "example": None,
        "fill_rate": None,
        "distinct_estimate": None,
        "last_seen_at": None,
    }
    account = fields["fields.account"]
    assert (account["group"], account["type"]) == ("captured", "string")
    assert (account["fill_rate"], account["distinct_estimate"]) == (0.8, 4)
    assert account["example"] == "a3"
    assert fields["request.headers.x-app"]["fill_rate"] == 0.2
    for name in ("fields.password", "fields.body", "request.cookies.sid"):
        assert fields[name]["example"] is None, name


def _catalog(shop: Deciding, role: str) -> dict[str, Any]:
    return {each["name"]: each for each in shop.get("field-catalog", role=role, limit=500)}


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
