"""Alerts in the console: create one, see its state, turn it off, delete it."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.browser import Watched, violations
from tests.console.places import HOME


def test_an_alert_is_previewed_created_and_ended(owner: Watched) -> None:
    """The preview says how often it would have fired, and the list has its state and receiver."""
    page = owner.page
    page.goto(f"{HOME}/alerts")
    form = page.get_by_role("form", name="New alert")
    form.get_by_label("Name").fill("Many blocks")
    form.get_by_label("Threshold").fill("250")
    form.get_by_role("button", name="Preview").click()
    expect(form.get_by_role("status")).to_contain_text("Would have fired 0 times since")
    form.get_by_label("Address").fill("http://hooks.example.com/")
    form.get_by_role("button", name="Create").click()
    expect(form).to_contain_text("it must be an https:// address without a user")
    form.get_by_label("Address").fill("https://hooks.example.com/alerts")
    form.get_by_role("button", name="Create").click()
    row = page.get_by_role("row").filter(has_text="Many blocks")
    expect(row).to_contain_text("above 250 and 4 times the usual, over 2 minutes")
    expect(row).to_contain_text("Webhook https://hooks.example.com/alerts")
    expect(row).to_contain_text("OK")
    assert violations(page) == []
    row.get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("Disabled")
    row.get_by_role("button", name="Delete").click()
    row.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No alerts.")).to_be_visible()
    assert [each for each in owner.said if "422" not in each] == []
    owner.said.clear()
    owner.require_silence()
