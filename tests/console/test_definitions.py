"""Definitions in the console: they are written, checked while they are typed, and saved."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from tests.browser import Watched
from tests.service.service_process import Service


def write(page: Page, expression: str) -> None:
    """Type an expression into the editor, in place of what it holds."""
    editor = page.get_by_role("textbox", name="Expression")
    editor.click()
    page.keyboard.press("Control+A")
    page.keyboard.type(expression)


def test_an_action_is_checked_while_it_is_typed(owner: Watched, service: Service) -> None:
    """A finding stands at its place and below; the mended text is saved, with its fail mode."""
    page = owner.page
    page.goto("/console/example-shop/actions/new")
    page.get_by_label("Name").fill("Probes for backups")
    write(page, 'request.pth.endsWith(".bak')
    expect(page.locator(".finding.error").first).to_be_visible()
    write(page, 'request.path.endsWith(".bak')
    expect(page.get_by_text("Cost")).to_be_visible()
    page.get_by_label("When a daemon can't reach").select_option("closed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Probes for backups")).to_be_visible()
    page.goto("/console/example-shop/actions")
    expect(page.get_by_role("link", name="Probes for backups")).to_be_visible()
    actions = service.control("GET", f"/tenants/{service.tenant_id}/actions?limit=500").json()
    saved = next(each for each in actions if each["name"] == "Probes for backups")
    assert saved["fail_mode"] == "closed"
    owner.require_silence()


def test_a_stale_change_shows_both_and_loses_nothing(owner: Watched, service: Service) -> None:
    """Two changes of one action meet: mine and theirs are shown, and mine can be saved."""
    path = f"/tenants/{service.tenant_id}/actions"
    made = service.control(
        "POST", path, {"name": "Contended", "expression": 'request.path == "/a"'}
    ).json()
    page = owner.page
    page.goto(f"/console/example-shop/actions/{made['action_id']}")
    page.get_by_label("Description").fill("mine")
    service.control("PATCH", f"{path}/{made['action_id']}", {"description": "theirs"})
    page.get_by_role("button", name="Save", exact=True).click()
    conflict = page.get_by_role("alert")
    expect(conflict).to_contain_text("theirs")
    expect(conflict).to_contain_text("mine")
    page.get_by_role("button", name="Save mine over theirs").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    found = service.control("GET", f"{path}/{made['action_id']}").json()
    assert found["description"] == "mine"


def test_a_policy_is_written_clause_by_clause(owner: Watched, service: Service) -> None:
    """A new policy names action, entity, window and mitigation, and is saved as a draft."""
    page = owner.page
    page.goto("/console/example-shop/policies/new")
    clause = page.get_by_role("group", name="Clause 1")
    page.get_by_label("Name", exact=True).first.fill("Guessing")
    clause.get_by_label("Name").fill("many failures")
    page.get_by_role("checkbox", name="Failed login").check()
    page.get_by_label("Entity").select_option(label="Address")
    page.get_by_label("Only when a window is reached").check()
    page.get_by_label("Threshold").fill("7")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Guessing")).to_be_visible()
    policies = service.control("GET", f"/tenants/{service.tenant_id}/policies?limit=500").json()
    saved = next(each for each in policies if each["name"] == "Guessing")
    assert saved["status"] == "draft"
    assert saved["clauses"][0]["window"]["threshold"] == 7
    owner.require_silence()


def test_a_block_keeps_its_computed_headers(owner: Watched, service: Service) -> None:
    """Computed headers are written line by line; those of several lines are shown and kept."""
    page = owner.page
    several = 'request.path == "/"\n  ? "USD 0.01"\n  : "USD 0.02"'
    for text, is_editable in (('"USD 0.01"', True), (several, False)):
        block = {"status_code": 402, "computed_headers": {"crawler-price": text}}
        name = f"Pay {is_editable}"
        made = {"name": name, "mode": "Block", "block": block}
        path = f"/tenants/{service.tenant_id}/mitigations"
        pay = service.control("POST", path, made).json()
        page.goto(f"/console/example-shop/mitigations/{pay['mitigation_id']}")
        field = page.get_by_role("textbox", name="Computed headers")
        if is_editable:
            field.fill('crawler-price: "USD 0.03"')
            text = '"USD 0.03"'
        else:
            expect(page.get_by_text("Expressions of several lines")).to_be_visible()
        page.get_by_label("Description").fill("changed")
        with page.expect_response(lambda each: each.request.method in ("PUT", "PATCH")):
            page.get_by_role("button", name="Save", exact=True).click()
        saved = service.control("GET", f"{path}/{pay['mitigation_id']}").json()
        assert (saved["description"], saved["block"]["computed_headers"]) == (
            "changed",
            {"crawler-price": text},
        )
    owner.require_silence()
