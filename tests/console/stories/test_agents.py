"""An imitator of an agent is seen and stopped, and agents that prove who they are go on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser import Watched
from tests.console.conftest import started
from tests.console.places import HOME
from tests.console.stories.test_story import entered
from tests.service.service_process import Service, stop
from tests.signing import Agent

AUTHORITY, IMITATOR, SHOPPER = "shop.example", "203.0.113.40", "203.0.113.41"
BUDGET = 600
"""Requests of a proven agent a minute, by the pack."""


def visit(address: str, user_agent: str, **headers: str) -> dict[str, Any]:
    """The event of a request for a page."""
    own = {"host": AUTHORITY, "user-agent": user_agent, **headers}
    return {"request": {"method": "GET", "path": "/", "client_ip": address, "headers": own}}


@pytest.fixture(scope="module")
def signer() -> Agent:
    return Agent()


@pytest.fixture(scope="module")
def told(signer: Agent, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that accepts the keys of an agent and has the pack, with its budget enabled."""
    made = started(tmp_path_factory.mktemp("agents") / "log")
    tenant = f"/tenants/{made.tenant_id}"
    assert made.control("POST", f"{tenant}/lists", signer.named_list).is_success
    assert made.control("POST", f"{tenant}/packs/verified-bots/add", {}).is_success
    found = made.control("GET", f"{tenant}/mitigations").json()
    (slow,) = (each for each in found if each["slug"] == "verified-bots-slow-down")
    change = {"enabled": True}
    assert made.control("PATCH", f"{tenant}/mitigations/{slow['mitigation_id']}", change).is_success
    yield made
    stop(made.process)


def action(service: Service, event: dict[str, Any]) -> Any:
    """The action of a decision on an event."""
    return service.hot("/runtime/mitigation", event).json()["action"]


def row(page: Page, region: str, agent: str) -> Locator:
    found = page.get_by_role("region", name=region).get_by_role("row")
    return found.filter(has=page.get_by_role("link", name=agent, exact=True))


def cells(shown: Locator) -> Locator:
    return shown.get_by_role("cell")


def test_an_imitator_is_seen_and_stopped_and_a_proven_agent_keeps_its_budget(
    browser: Browser, told: Service, signer: Agent
) -> None:
    """A policy made from the page blocks the imitator; the signed agent of the same name passes
    until its budget is used."""
    imitator, published = visit(IMITATOR, "Googlebot/2.1"), visit("66.249.66.1", "Googlebot/2.1")

    def proven() -> dict[str, Any]:
        signed = signer.headers(authority=AUTHORITY, created=int(time.time()))
        return visit(SHOPPER, "Googlebot/2.1", **signed)

    for event in (imitator, proven(), published):
        assert action(told, event)["type"] == "allow"

    with entered(browser, told) as operator:
        page = operator.page
        page.get_by_role("link", name="Agents", exact=True).click()
        seen = row(page, "Imitators", "Googlebot")
        expect(cells(seen)).to_have_text(
            [
                "Googlebot",
                "Name only",
                "1",
                "0",
                "0",
                "Google",
                "Search",
                re.compile("."),
                "Create a policy",
            ]
        )
        others = row(page, "Other agents", "Googlebot")
        expect(cells(others).nth(1)).to_have_text("Published address")
        shopper = row(page, "Other agents", "Shopper")
        expect(cells(shopper).first).to_have_text("Shopper says it is Googlebot")
        expect(cells(shopper).nth(1)).to_have_text("Signature")

        # The events are those that were counted.
        seen.get_by_role("link", name="Googlebot").click()
        expect(page.get_by_text("1 of the newest")).to_be_visible()
        expect(page.get_by_role("region", name="Samples").last).to_contain_text(IMITATOR)

        page.goto(f"{HOME}/agents")
        row(page, "Imitators", "Googlebot").get_by_role("link", name="Create a policy").click()
        block_with_the_first_mitigation(operator, "Stop imitators")

        for event, wanted in ((imitator, "block"), (proven(), "allow"), (published, "allow")):
            assert action(told, event)["type"] == wanted
        assert told.hot("/beacon/events", [proven()] * (BUDGET - 3)).is_success
        refused = action(told, proven())
        assert (refused["type"], refused["block"]["status_code"]) == ("block", 429)
        assert action(told, published)["type"] == "allow"

        page.goto(f"{HOME}/agents")
        expect(cells(row(page, "Imitators", "Googlebot")).nth(4)).to_have_text("1")
        expect(cells(row(page, "Other agents", "Googlebot")).nth(4)).to_have_text("0")
        expect(cells(row(page, "Other agents", "Shopper")).nth(2)).to_have_text(str(BUDGET))
        expect(cells(row(page, "Other agents", "Shopper")).nth(4)).to_have_text("1")
        operator.require_silence()


def block_with_the_first_mitigation(operator: Watched, name: str) -> None:
    """Fill the form of a new policy, activate and save it."""
    page = operator.page
    page.get_by_label("Name", exact=True).first.fill(name)
    clause = page.get_by_role("group").filter(has=page.get_by_label("Then")).last
    clause.get_by_label("Name", exact=True).fill("any")
    options = page.get_by_label("Then").locator("option")
    block = options.filter(has_text=re.compile("block", re.IGNORECASE)).first
    page.get_by_label("Then").select_option(block.get_attribute("value"))
    page.get_by_label("Status").select_option("active")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
