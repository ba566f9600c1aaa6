"""Nothing needs a pointer: the palette, and an action edited, saved and found by keys alone."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from tests.browser import Watched
from tests.console.places import HOME, blocked, first
from tests.service.service_process import Service
from tests.waiting import wait_until

EDGES = """() => {
  const focused = document.activeElement.getBoundingClientRect();
  const save = document.querySelector('.save').getBoundingClientRect();
  // What is taller than the screen cannot be above the row as a whole.
  return [Math.min(focused.bottom, focused.top + 24), save.top];
}"""
"""Down to where the element with the focus has to be seen, and where the row with Save begins."""
FIELDS, MOST_TABS = 5, 100
"""Fewer than the form of a policy has, and more."""


def open_palette(page: Page) -> None:
    """Open it, and wait until it takes what is typed: a test types faster than anybody."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").locator("input")).to_be_focused()


def test_the_palette_leads_to_pages_objects_and_addresses(owner: Watched) -> None:
    """A part of a name opens a page or a policy; an address opens its decisions."""
    page = owner.page
    for typed, heading in (("entity def", "Entity definitions"), ("crawlers pass", "Known")):
        open_palette(page)
        page.keyboard.type(typed)
        found = page.get_by_role("dialog").get_by_role("listitem")
        expect(found.filter(has_text=re.compile(typed, re.IGNORECASE)).first).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    open_palette(page)
    page.keyboard.type("192.0.2.7")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Address or network")).to_have_value("192.0.2.7")
    owner.require_silence()


def test_an_action_is_edited_and_saved_without_a_pointer(owner: Watched, service: Service) -> None:
    """Keys lead to a row, into its form, and save it."""
    page = owner.page
    tenant = f"/tenants/{service.tenant_id}"
    before = service.control("GET", f"{tenant}/actions").json()[0]
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_role("link", name=before["name"])).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Save")).to_be_visible()
    page.keyboard.press("e")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("changed by keys")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved.")).to_be_visible()
    after = service.control("GET", f"{tenant}/actions/{before['action_id']}").json()
    assert after["description"] == "changed by keys"
    owner.require_silence()


def test_a_mitigation_is_lifted_without_a_pointer(owner: Watched, service: Service) -> None:
    """Keys lead to an entity and to the button that lifts what it is under."""
    page = owner.page
    page.goto(f"{HOME}/entities/{blocked(service)}")
    lift = page.get_by_role("button", name="Lift").first
    expect(lift).to_be_visible()

    def is_reached_by_a_tab() -> bool:
        page.keyboard.press("Tab")
        return bool(lift.evaluate("button => button === document.activeElement"))

    wait_until(is_reached_by_a_tab)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Reason for the audit log (optional)")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("No active mitigations.")).to_be_visible()


def test_single_keys_can_be_turned_off(owner: Watched) -> None:
    """The list of keys turns them off, and a new page keeps to that."""
    page = owner.page
    page.keyboard.press("?")
    page.get_by_label("Enable single-key shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_row_with_save_covers_nothing_that_has_the_focus(
    owner: Watched, service: Service
) -> None:
    """Whatever Tab leads to in a form, at two sizes of a screen, is above the row at the lower
    edge or in it (2.4.11 of WCAG 2.2)."""
    page = owner.page
    policy = first(service, "policies", "policy_id")
    for width, height in ((1280, 600), (320, 480)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{HOME}/policies/{policy}")
        expect(page.get_by_role("button", name="Save", exact=True)).to_be_visible()
        # Later content pushes the form down, and a browser keeps no place at the very top.
        page.wait_for_load_state("networkidle")
        page.locator("main :is(input, textarea)").first.focus()
        # The row stays in view from the first change on.
        page.keyboard.type("x")
        expect(page.locator(".save.changed")).to_be_visible()
        above = 0
        while not page.evaluate("document.activeElement.closest('.save') !== null"):
            # A browser scrolls after the key.
            page.wait_for_function(
                f"() => {{ const [bottom, edge] = ({EDGES})(); return bottom <= edge; }}"
            )
            above += 1
            assert above < MOST_TABS, "Tab never leads to Save"
            page.keyboard.press("Tab")
        assert above > FIELDS
