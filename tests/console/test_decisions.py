"""Blocked requests in the console, from the list to the explanation of one decision."""

from __future__ import annotations

import re

from playwright.sync_api import Route, expect
from tests.browser import THEMES, Watched, violations
from tests.console.places import HOME, first
from tests.console.test_access import width_of
from tests.service.service_process import Service


def test_a_blocked_request_is_found_and_explained(owner: Watched) -> None:
    """The list is filtered to blocks; a decision shows the clause that fired and its event."""
    page = owner.page
    page.get_by_role("link", name="Decisions").click()
    page.get_by_label("Answer").select_option("block")
    rows = page.get_by_role("row")
    expect(rows.nth(1)).to_contain_text("block")
    expect(page).to_have_url(re.compile("#"))
    expect(page.locator("tbody .badge.allow")).to_have_count(0)
    rows.nth(1).get_by_role("link").click()
    page.wait_for_url(re.compile(r"/decisions/[0-9a-f-]{36}$"))
    expect(page.get_by_text("The explanation reproduces the recorded decision")).to_be_visible()
    expect(page.locator("details[open]").filter(has_text="fired").first).to_be_visible()
    owner.require_silence()


def test_a_test_is_written_copied_and_downloaded(owner: Watched, service: Service) -> None:
    """The dialog has the test that the service wrote, and the file has the same text."""
    page = owner.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    place = f"decisions/{first(service, 'decisions?action=block', 'decision_id')}"
    page.goto(f"{HOME}/{place}")
    page.get_by_role("button", name="Write a test").click()
    dialog = page.get_by_role("dialog", name="Write a test")
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Download").click()
    written = service.control("GET", f"/tenants/{service.tenant_id}/{place}/test").json()
    assert download.value.suggested_filename == written["file"]
    assert download.value.path().read_text() == written["text"]
    dialog.get_by_role("button", name="Copy test").click()
    assert page.evaluate("navigator.clipboard.readText()") == written["text"]
    expect(dialog.get_by_label("Test", exact=True)).to_contain_text("action: block")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    owner.require_silence()


def test_a_test_that_could_not_mean_the_same_is_refused_with_the_cause(
    owner: Watched, service: Service
) -> None:
    """The dialog says which definitions decided, and what comes of the event now."""
    page, tenant = owner.page, f"/tenants/{service.tenant_id}"
    policy = {
        "name": "Short",
        "status": "active",
        "expression": 'request.path == "/short"',
        "clauses": [{"name": "any"}],
    }
    made = service.control("POST", f"{tenant}/policies", policy).json()
    event = {"request": {"method": "GET", "path": "/short", "client_ip": "198.18.7.7"}}
    decision = service.hot("/runtime/mitigation", event).json()
    service.control("DELETE", f"{tenant}/policies/{made['policy_id']}")
    page.goto(f"{HOME}/decisions/{decision['decision_id']}")
    page.get_by_role("button", name="Write a test").click()
    dialog = page.get_by_role("dialog", name="Write a test")
    refusal = dialog.get_by_role("alert")
    expect(refusal.locator("strong")).to_contain_text("it was made by revision")
    expect(refusal.locator("pre")).to_contain_text('fired: expected [{"policy":"short"')
    expect(dialog.get_by_role("link", name="Download")).to_be_hidden()
    assert violations(page) == []
    assert [each for each in owner.said if "409" not in each] == []


def test_a_filter_that_is_typed_while_the_page_loads_is_kept(owner: Watched) -> None:
    """The names of policies arrive while somebody types, and nothing of the text is lost."""
    page, held = owner.page, list[Route]()
    page.route("**/policies*", lambda route: held.append(route))
    page.goto(f"{HOME}/decisions")
    address = page.get_by_label("Address or network")
    address.press_sequentially("203.0.113.7")
    assert held
    for each in held:
        each.continue_()
    expect(page.get_by_label("Policy").locator("option").nth(1)).to_be_attached()
    expect(address).to_have_value("203.0.113.7")
    address.press("Enter")
    expect(page).to_have_url(re.compile("address=203.0.113.7$"))
    page.unroute_all()
    owner.require_silence()


def test_overview_and_policies_show_what_was_answered(owner: Watched) -> None:
    """The overview counts answers, as a table too; the policies stand in their order."""
    page = owner.page
    page.get_by_role("button", name="As table").click()
    expect(page.get_by_role("columnheader", name="challenge").first).to_be_visible()
    page.get_by_role("link", name="Policies").click()
    expect(page.get_by_role("heading", name="Policies", exact=True)).to_be_visible()
    priorities = page.locator("tbody tr td:first-child")
    expect(priorities.first).to_be_visible()
    shown = [int(each) for each in priorities.all_inner_texts()]
    assert shown == sorted(shown)
    owner.require_silence()


def test_values_are_painted_on_the_text(owner: Watched, service: Service) -> None:
    """Parts of an expression show what they gave; a list says the same, and all can read both."""
    page = owner.page
    page.goto(f"{HOME}/decisions/{first(service, 'decisions?action=block', 'decision_id')}")
    matched = page.locator("main details[open]").first
    expect(matched.locator(".part.held").first).to_be_visible()
    shown = matched.locator(".part[data-value]").first
    value = shown.get_attribute("data-value")
    row = matched.locator("tr").filter(has=page.get_by_text(shown.inner_text(), exact=True))
    expect(row.first).to_contain_text(value or "no value")
    tried = matched.locator("pre").inner_text()
    service_says = service.control(
        "GET", f"/tenants/{service.tenant_id}{page.url.partition('example-shop')[2]}/explain"
    ).json()
    texts = [each["expression"]["text"] for each in service_says["trace"]["actions"]]
    assert tried in texts
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        assert violations(page) == []
    assert width_of(page, 320) == 320
    owner.require_silence()


def test_the_trace_of_a_decision_can_be_copied(owner: Watched, service: Service) -> None:
    """A decision of a call in a trace shows the trace's id, with a button; others show neither."""
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    event = {"request": {"method": "GET", "path": "/traced", "client_ip": "192.0.2.77"}}
    sent = f"00-{trace_id}-00f067aa0ba902b7-01"
    traced = service.hot("/runtime/mitigation", event, traceparent=sent).json()["decision_id"]
    other = service.hot("/runtime/mitigation", event).json()["decision_id"]
    page = owner.page
    page.goto(f"{HOME}/decisions/{traced}")
    expect(page.get_by_text(trace_id, exact=True)).to_be_visible()
    page.get_by_role("button", name="Copy Trace ID").click()
    expect(page.get_by_role("button", name="Copied Trace ID")).to_be_visible()
    page.goto(f"{HOME}/decisions/{other}")
    expect(page.get_by_text("Duration", exact=True)).to_be_visible()
    expect(page.get_by_text("Trace ID", exact=True)).to_have_count(0)
    owner.require_silence()
