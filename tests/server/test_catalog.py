"""The field catalog: the field model, actions, and what traffic has of captured names."""

from __future__ import annotations

from tests.server.deciding import Deciding, made

from tidegate.language.schema import FIELD_MODEL
from tidegate.server.catalog import DESCRIPTIONS


def test_every_field_of_the_model_is_described() -> None:
    """None is forgotten, none is made up."""
    assert DESCRIPTIONS.keys() == FIELD_MODEL.keys()


def test_the_catalog_has_the_model_the_actions_and_what_was_captured(shop: Deciding) -> None:
    """Captured names with their share of the events, secrets hashed in the example."""
    for number in range(4):
        shop.decide("/", fields={"account": f"a{number}", "password": "hunter2"})
    shop.decide("/", request={"headers": {"X-App": "shop"}})
    fields = {each["name"]: each for each in shop.get("field-catalog", role="Viewer", limit=500)}
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
    assert fields["fields.password"]["example"].startswith("hmac:")
    assert fields["request.headers.x-app"]["fill_rate"] == 0.2


def test_pages_of_the_catalog_join(shop: Deciding) -> None:
    """In the order of the names."""
    names: list[str] = []
    path = f"/api/v1/{shop.path}/field-catalog?limit=7"
    while path:
        answer = shop.by("Owner").get(path)
        names += [each["name"] for each in made(answer)]
        path = answer.links["next"]["url"] if "next" in answer.links else ""
    assert names == sorted(set(names))
    assert set(names) >= FIELD_MODEL.keys()
