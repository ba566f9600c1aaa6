"""A tenant that keeps only what its definitions read: every place where an event is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.server.deciding import Deciding, Service, deciding, made
from tests.waiting import wait_until

from tidegate.policy.lint.unused import NEVER_USED

READ = 'request.headers["x-plan"] == "plan-shown"'
DEFINITIONS: dict[str, Any] = {
    "apiVersion": "tidegate/v1",
    "settings": {"keep_only_read": True},
    "actions": [{"name": "Paid", "expression": READ}],
    "entities": [{"name": "Account", "key_fields": ["fields.account"]}],
    "policies": [
        {
            "name": "Watch",
            "clauses": [
                {
                    "name": "many",
                    "entity": "account",
                    "expression": 'request.body.cart.total > 5 && request.query_params["q"] != ""',
                    "window": {
                        "duration_seconds": 60,
                        "threshold": 1,
                        "measure": "distinct",
                        "field": 'request.route_params["shop"]',
                    },
                }
            ],
        }
    ],
}
SHOWN = ("host-shown", "plan-shown", "account-shown", "q-shown", "shop-shown")
HIDDEN = "zqhidden"
EVENT: dict[str, Any] = {
    "path": f"/cart?q=q-shown&z={HIDDEN}&{HIDDEN}#{HIDDEN}",
    "return_url": f"https://shop.example/?z={HIDDEN}",
    "other": HIDDEN,
    "request": {
        "other": HIDDEN,
        "headers": {
            "X-Plan": "plan-shown",
            "host": "host-shown.example",
            "x-mine": HIDDEN,
            "account": HIDDEN,
            "user-agent": HIDDEN,
            "referer": f"https://shop.example/?z={HIDDEN}",
        },
        "query_params": {"q": "q-shown", "z": HIDDEN, "x-plan": HIDDEN},
        "route_params": {"shop": "shop-shown", "z": HIDDEN},
        "cookies": {"theme": HIDDEN, "q": HIDDEN},
    },
    "fields": {
        "account": "account-shown",
        "note": HIDDEN,
        "body": {"cart": {"total": 123456789, "note": HIDDEN}, "list": [HIDDEN]},
    },
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "decisions.jsonl"


@pytest.fixture(scope="module")
def keeping(published: Path, process: None) -> Iterator[Service]:
    """A service that publishes into a file."""
    with deciding(published.parent / "data", publish_url=f"file://{published}") as service:
        yield service


def _asked(shop: Deciding, decision_id: str) -> dict[str, Any]:
    """The answers of every place that shows something of an event."""
    post = shop.by("Owner").post
    fields = ['request.headers["x-mine"]', 'fields["note"]', "request.raw_path"]
    period = {"since": "2020-01-01T00:00:00Z", "until": "2090-01-01T00:00:00Z"}
    return {
        "list": shop.get("decisions"),
        "decision": shop.get(f"decisions/{decision_id}"),
        "explanation": shop.get(f"decisions/{decision_id}/explain"),
        "catalog": shop.get("field-catalog", limit=200),
        "search": made(post(f"{shop.path}/decisions/search", {})),
        "match": made(post(f"{shop.path}/traffic/match", {**period, "expression": READ})),
        "facets": made(post(f"{shop.path}/traffic/facets", {**period, "fields": fields})),
    }


def test_only_what_definitions_read_is_shown_anywhere(keeping: Service, published: Path) -> None:
    """Records, lists, searches, facets, the catalog, and messages; these have the stored event."""
    shop = keeping.tenant(DEFINITIONS)
    answer = shop.decide(**EVENT)
    wait_until(
        lambda: published.exists() and answer["decision_id"].encode() in published.read_bytes()
    )
    places = {
        **_asked(shop, answer["decision_id"]),
        "messages": published.read_text(),
    }
    for place, content in places.items():
        assert HIDDEN not in orjson.dumps(content).decode().lower(), place
    event = places["decision"]["event"]
    assert event["fields"]["body"]["cart"]["total"] == 123456789
    shown = orjson.dumps([event, places["decision"]]).decode()
    assert [each for each in SHOWN if each not in shown] == []
    assert places["match"]["matched"] == 1
    assert places["decision"]["matched_actions"] == ["paid"]


def test_a_change_of_definitions_changes_what_is_kept(keeping: Service) -> None:
    """From then on; of earlier events it hides what is no longer read, and shows nothing more."""
    shop = keeping.tenant(DEFINITIONS)
    first = shop.decide(**EVENT)
    path = f"{shop.path}/definitions"
    document = made(shop.by("Owner").get(path))
    document["policies"][0]["clauses"] = [{"name": "mine", "expression": 'fields.note == "a"'}]
    changed = made(shop.by("Owner").request("PUT", path, json=document))
    assert changed["active"]
    second = shop.decide(**EVENT)
    fields = [
        shop.get(f"decisions/{each['decision_id']}")["event"]["fields"] for each in (first, second)
    ]
    assert [each["account"] for each in fields] == ["account-shown"] * 2
    assert [each["note"].startswith("hmac:") for each in fields] == [True, False]
    assert [each["body"].startswith("hmac:") for each in fields] == [True, True]


def test_the_setting_is_one_of_the_tenant(keeping: Service) -> None:
    """It can be changed alone; the catalog then shows nothing that it learned before, and the
    findings have the maps that are kept whole."""
    whole = {"name": "Any", "expression": 'request.query_params.exists(k, k == "x")'}
    open_ = {
        **DEFINITIONS,
        "settings": {},
        "actions": [*DEFINITIONS["actions"], whole],
    }
    shop = keeping.tenant(open_)
    shop.decide(**EVENT)

    def example(name: str) -> Any:
        return next(
            each["example"] for each in shop.get("field-catalog", limit=200) if each["name"] == name
        )

    def about(shop: Deciding) -> list[tuple[str, Any]]:
        """The warnings that aren't about unused objects, each with the name of its object."""
        return [
            (each["name"], warning)
            for each in shop.get("definitions/findings")
            for warning in each["warnings"]
            if warning["code"] != NEVER_USED
        ]

    assert example("fields.note") == HIDDEN
    assert about(shop) == []
    made(shop.by("Owner").patch(shop.path, json={"settings": {"keep_only_read": True}}))
    assert shop.get("")["settings"]["keep_only_read"] is True
    assert example("fields.note") is None
    assert example("fields.account") == "account-shown"
    assert example("request.query_params.z") == HIDDEN
    ((name, warning),) = about(shop)
    assert (name, warning["code"]) == ("Any", "keeps-whole-map")
    assert "`actions.any.expression`" in warning["detail"]
    assert "`request.query_params`" in warning["detail"]


def test_a_name_that_becomes_a_secret_is_hidden_everywhere(keeping: Service) -> None:
    """Explanations and replays of earlier decisions are made by earlier definitions, and shown by
    the names of now, also where the entity definition of a key is gone."""
    hidden = ("account", "x-plan", "q", "shop")
    values = ("account-shown", "plan-shown", "q-shown", "shop-shown")
    paid = {"name": "Paid", "expression": 'request.headers["x-plan"].startsWith("pl")'}
    definitions = {**DEFINITIONS, "settings": {}, "actions": [paid]}
    shop = keeping.tenant(definitions)
    decision_id = shop.decide(**EVENT)["decision_id"]
    owner = shop.by("Owner")
    before = shop.get(f"decisions/{decision_id}/explain")
    assert [each for each in values if each not in orjson.dumps(before).decode()] == []
    draft = {"definitions": {**made(owner.get(f"{shop.path}/definitions"))}}
    period = {"since": "2020-01-01T00:00:00Z", "until": "2090-01-01T00:00:00Z"}
    job = made(owner.post(f"{shop.path}/replay-jobs", {**period, **draft}))["replay_job_id"]
    wait_until(lambda: shop.get(f"replay-jobs/{job}")["status"] == "done")
    for settings in ({"redact": list(hidden)}, {"keep_only_read": True}):
        document = {**definitions, "settings": settings}
        if "keep_only_read" in settings:
            document |= {"actions": [], "entities": [], "policies": []}
        made(owner.request("PUT", f"{shop.path}/definitions", json=document))
        places = {
            **_asked(shop, decision_id),
            "replayed": shop.get(f"replay-jobs/{job}/differences/{decision_id}/explain"),
            "entities": shop.get("entities/top", newest=5000),
        }
        for place, content in places.items():
            text = orjson.dumps(content).decode()
            assert [each for each in values if each in text] == [], (place, settings)
        explained = places["explanation"]
        assert explained["reproduced"], explained["because"]
        assert explained["decision"]["matched_actions"] == ["paid"]
        assert places["replayed"]["decision"]["matched_actions"] == ["paid"]
