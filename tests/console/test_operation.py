"""Who is stopped, what changed, who may do what: pages that show and end."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.browser import Watched
from tests.service.service_process import Service


def test_a_mitigation_is_lifted_and_audited(owner: Watched, service: Service) -> None:
    """The entity that is stopped is let through again, and the audit says who did it."""
    page = owner.page
    page.goto("/console/example-shop/active")
    row = page.get_by_role("row").nth(1)
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Active mitigations")).to_be_visible()
    address = page.url.rsplit("/", 1)[-1]
    page.get_by_role("button", name="Lift").first.click()
    expect(page.get_by_role("button", name="Lift")).to_have_count(0)
    audit = service.control("GET", f"/tenants/{service.tenant_id}/audit?limit=1").json()
    assert (audit[0]["action"], audit[0]["object_id"]) == ("lift", address)
    page.goto("/console/example-shop/audit")
    expect(page.get_by_role("row").nth(1)).to_contain_text("lift")
    owner.require_silence()


def test_a_new_key_is_shown_once_and_decides(owner: Watched, service: Service) -> None:
    """A key that the page shows is good at once; a revoked key says so."""
    page = owner.page
    page.goto("/console/example-shop/settings")
    page.get_by_role("region", name="API keys").get_by_label("Name").fill("made in the console")
    page.get_by_role("button", name="Create a key").click()
    shown = page.get_by_role("status").get_by_text("tg_")
    expect(shown).to_be_visible()
    key = shown.inner_text()
    answer = service.post(
        "/runtime/mitigation", b'{"request": {"path": "/"}}', {"x-service-api-key": key}
    )
    assert answer.status_code == 200
    revoke = page.get_by_role("button", name="Revoke made in the console")
    revoke.click()
    revoke.click()
    expect(page.get_by_role("row", name="made in the console")).to_contain_text("revoked")
    owner.require_silence()


def test_a_replay_counts_what_was_decided(owner: Watched) -> None:
    """The saved definitions over the recorded traffic: counts beside each other."""
    page = owner.page
    page.goto("/console/example-shop/replay")
    page.get_by_role("button", name="Replay the saved definitions").click()
    expect(page.get_by_text("done:")).to_be_visible()
    expect(page.get_by_role("heading", name="Decisions that differ")).to_be_visible()
    owner.require_silence()


def test_the_catalog_gives_the_text_that_reads_a_field(owner: Watched) -> None:
    """Each field stands with an expression, which a button copies."""
    page = owner.page
    page.goto("/console/example-shop/catalog")
    expect(page.get_by_text("request.path", exact=True).first).to_be_visible()
    owner.require_silence()
