"""Findings about definitions, by a tenant's records."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from tests.server.deciding import DEFINITIONS, Deciding, Service, made

from tidegate.cli.main import tidegate

EVENTS = 120
MORE: dict[str, Any] = {
    **DEFINITIONS,
    "actions": [
        *DEFINITIONS["actions"],
        {"name": "Nowhere", "expression": 'request.path == "/nowhere"'},
        {"name": "All", "expression": 'request.path.startsWith("/")'},
    ],
    "policies": [
        {
            "name": "Cart",
            "expression": "actions.all",
            "clauses": [
                {"name": "posts", "expression": 'request.method == "POST"', "mitigation": "prove"}
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def shop(service: Service) -> Deciding:
    """A shop whose policy would challenge posts."""
    made_shop = service.tenant(MORE)
    for number in range(EVENTS):
        request = {"method": "POST" if number % 4 == 0 else "GET"}
        made_shop.decide("/cart", f"192.0.2.{number}", request=request)
    return made_shop


def test_findings_come_from_the_records_of_a_tenant(shop: Deciding) -> None:
    """By object, those that need no events among them."""
    found = shop.get("lint", role="Analyst")
    assert (found["looked_at"], found["complete"], found["general"]) == (EVENTS, True, [])
    codes = {
        (each["kind"], each["name"], warning["code"], warning["pointer"])
        for each in found["definitions"]
        for warning in each["warnings"]
    }
    assert ("action", "Nowhere", "never-matched", "/expression") in codes
    assert ("action", "All", "matches-most", "/expression") in codes
    assert ("policy", "Cart", "challenge-not-answerable", "/clauses/0/mitigation_id") in codes
    assert ("list", "Offices", "never-used", "") in codes


def test_too_few_events_are_said(shop: Deciding, service: Service) -> None:
    """Nothing is concluded of them."""
    found = shop.get("lint", role="Analyst", newest=20)
    assert [each["code"] for each in found["general"]] == ["too-few-events"]
    assert found["looked_at"] == 20
    empty = service.tenant().get("lint")
    assert (empty["looked_at"], empty["since"]) == (0, None)


def test_records_are_needed_for_it(shop: Deciding) -> None:
    """Somebody who isn't a member is refused."""
    assert shop.by("Stranger").get(f"{shop.path}/lint").status_code == 404
    assert made(shop.by("Analyst").get(f"{shop.path}/lint"))["looked_at"] == EVENTS


def test_the_command_prints_the_findings_of_a_tenant(shop: Deciding) -> None:
    """With the object that each is about; the tenant is named by its slug."""
    slug = shop.get("")["slug"]
    address = ["--server", shop.service.base_url, "--tenant", slug]
    token = {"TIDEGATE_TOKEN": shop.by("Analyst").token}
    done = CliRunner().invoke(tidegate, ["lint", *address], env=token)
    assert done.exit_code == 0
    assert "action Nowhere: warning[never-matched]: the action `nowhere`" in done.output
    strict = CliRunner().invoke(
        tidegate, ["lint", *address, "--warnings-as-errors", "--json"], env=token
    )
    assert strict.exit_code == 1
    found = json.loads(strict.stdout)["errors"]
    assert {"challenge-not-answerable", "matches-most"} <= {each["code"] for each in found}
    mixed = CliRunner().invoke(tidegate, ["lint", *address, "shop.yaml"], env=token)
    assert mixed.exit_code == 2
