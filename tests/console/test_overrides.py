"""Banning and letting through by hand, from a decision, an entity and the list."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect
from tests.browser import Watched, violations
from tests.console.places import HOME, blocked
from tests.service.service_process import Service


def decided(service: Service, address: str) -> Any:
    """The decision on a request of an address."""
    probe = {"request": {"method": "GET", "path": "/", "client_ip": address}}
    return service.hot("/runtime/mitigation", probe).json()


def act(page: Page, button: str, verb: str, reason: str) -> None:
    """Press a button, and fill its dialog."""
    page.get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog", name=button)
    expect(dialog.get_by_role("button", name=verb, exact=True)).to_be_disabled()
    dialog.get_by_label("Duration").select_option(label="8 hours")
    dialog.get_by_label("Reason").fill(reason)
    assert violations(page) == []
    dialog.get_by_role("button", name=verb, exact=True).click()


def end_all(page: Page) -> None:
    """End every override in the list."""
    page.goto(f"{HOME}/overrides")
    expect(page.get_by_role("heading", name="Bans and exemptions")).to_be_visible()
    ends = page.get_by_role("button", name="End")
    expect(ends).not_to_have_count(0)
    for left in reversed(range(ends.count())):
        ends.first.click()
        ends.first.click()
        expect(ends).to_have_count(left)
    expect(page.get_by_text("Nobody is banned or let through by hand.")).to_be_visible()


def test_a_blocked_visitor_is_let_through_from_the_entity(owner: Watched, service: Service) -> None:
    """The entity's next request is allowed with the reason on record, until that is ended."""
    page, entity = owner.page, blocked(service)
    state = service.control("GET", f"/tenants/{service.tenant_id}/entities/{entity}/state").json()
    address = state["key"][0].removesuffix("/32")
    page.goto(f"{HOME}/entities/{entity}")
    act(page, "Let through for …", "Let through", "a customer called")
    expect(page.get_by_role("status").filter(has_text="Let through")).to_contain_text("until")
    assert decided(service, address)["reason"] == "exempt"
    page.get_by_role("status").get_by_role("link").click()
    row = page.get_by_role("row").filter(has_text="a customer called")
    expect(row).to_contain_text(address)
    expect(row).to_contain_text("allow")
    end_all(page)
    assert decided(service, address)["reason"] == "active-mitigation"
    page.goto(f"{HOME}/audit")
    rows = page.get_by_role("row")
    expect(rows.nth(1)).to_contain_text("ended the exemption of address: ")
    expect(rows.nth(2)).to_contain_text(": a customer called")
    owner.require_silence()


def test_an_address_is_banned_from_a_decision_and_why_says_so(
    owner: Watched, service: Service
) -> None:
    """The address of a decision is banned, and the next decision names author and reason."""
    page, address = owner.page, "198.18.9.9"
    first = decided(service, address)
    page.goto(f"{HOME}/decisions/{first['decision_id']}")
    page.get_by_role("button", name="Ban for …").click()
    page.get_by_label("Whom").select_option(label=address)
    page.get_by_role("dialog").get_by_label("Reason").fill("scraping prices")
    page.get_by_role("dialog").get_by_role("button", name="Ban", exact=True).click()
    expect(page.get_by_role("status").get_by_role("link")).to_have_text(f"Ban {address}")
    banned = decided(service, address)
    assert (banned["action"]["type"], banned["reason"]) == ("block", "banned")
    page.goto(f"{HOME}/decisions/{banned['decision_id']}")
    expect(page.get_by_role("region", name="Why")).to_contain_text("scraping prices")
    end_all(page)
    owner.require_silence()


def test_a_network_is_banned_from_the_list_and_a_mistake_is_said(
    owner: Watched, service: Service
) -> None:
    """A refusal is shown in the dialog, which stays open with what was typed."""
    page = owner.page
    page.goto(f"{HOME}/overrides")
    page.get_by_role("button", name="Ban for …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Address or network").fill("127.0.0.1")
    dialog.get_by_label("Reason").fill("scraping")
    dialog.get_by_role("button", name="Ban", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("can't be banned")
    dialog.get_by_label("Address or network").fill("198.18.8.0/24")
    dialog.get_by_role("button", name="Ban", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="198.18.8.0/24")).to_contain_text("scraping")
    assert decided(service, "198.18.8.77")["reason"] == "banned"
    end_all(page)
    assert [each for each in owner.said if "422" not in each] == []
