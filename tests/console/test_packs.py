"""Packs: what they catch and whom they can hurt is read, tried on traffic, added and removed."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from tests.browser import THEMES, Watched, violations
from tests.service.service_process import Service

HOME = "/console/example-shop"
PHONE = {"width": 375, "height": 800}


def readable(page: Page) -> None:
    """axe-core finds nothing in either theme, and a phone scrolls only tables sideways."""
    page.emulate_media(reduced_motion="reduce")
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        assert violations(page) == []
    before = page.viewport_size
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    if before is not None:
        page.set_viewport_size(before)


def versions(service: Service) -> dict[str, str]:
    """The packs that the tenant has."""
    found = service.control("GET", f"/tenants/{service.tenant_id}/packs").json()
    return {each["name"]: each["installed_version"] for each in found if each["installed_version"]}


def test_a_pack_is_tried_added_and_removed(owner: Watched, service: Service) -> None:
    """The gallery has the notes; a preview has the matches of slots; nothing answers yet."""
    page = owner.page
    page.goto(f"{HOME}/packs")
    card = page.get_by_role("region", name="scraping")
    expect(card.get_by_role("heading", name="Can hurt")).to_be_visible()
    expect(card.get_by_text("Not added")).to_be_visible()
    readable(page)
    card.get_by_role("link", name="scraping").click()
    expect(page.get_by_role("heading", name="scraping", level=1)).to_be_visible()
    slots = page.get_by_role("region", name="Slots")
    slots.get_by_role("textbox", name="product_page").click()
    page.keyboard.press("Control+A")
    page.keyboard.type('request.method == "GET" ')
    expect(page.get_by_role("listbox")).to_have_count(0)
    page.get_by_role("button", name="Preview", exact=True).click()
    preview = page.get_by_role("region", name="Preview", exact=True)
    expect(preview.get_by_text("policies.scraping-pages")).to_be_visible()
    expect(preview.get_by_role("row", name="product_page").get_by_text(" of ")).not_to_have_text(
        "0 of 0"
    )
    readable(page)
    assert versions(service) == {}
    preview.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("status").get_by_text("It only monitors")).to_be_visible()
    expect(page.get_by_text("Added, version 1.0.0")).to_be_visible()
    assert versions(service) == {"scraping": "1.0.0"}
    mitigations = service.control("GET", f"/tenants/{service.tenant_id}/mitigations").json()
    own = [each for each in mitigations if each["labels"].get("pack") == "scraping"]
    assert own
    assert not any(each["enabled"] for each in own)
    page.get_by_role("button", name="Preview the removal").click()
    removal = page.get_by_role("region", name="Preview the removal")
    removal.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("Not added")).to_be_visible()
    assert versions(service) == {}
    owner.require_silence()


def test_labels_are_written_in_the_form(owner: Watched, service: Service) -> None:
    """One label a line; a line that isn't finished isn't a label."""
    page = owner.page
    page.goto(f"{HOME}/mitigations/new")
    page.get_by_label("Name", exact=True).fill("Labelled")
    page.get_by_label("Labels").fill("team: accounts\nticket: SEC-1: urgent\nunfinished")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Labelled")).to_be_visible()
    found = service.control("GET", f"/tenants/{service.tenant_id}/mitigations?limit=500").json()
    (saved,) = (each for each in found if each["name"] == "Labelled")
    assert saved["labels"] == {"team": "accounts", "ticket": "SEC-1: urgent"}
    expect(page.get_by_label("Labels")).to_have_value("team: accounts\nticket: SEC-1: urgent")
