"""The pages of mitigations, the audit, entities and API keys."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.browser import Watched
from tests.console.places import blocked
from tests.service.service_process import Service


def test_a_mitigation_is_lifted_and_audited(owner: Watched, service: Service) -> None:
    """The entity that is stopped is let through again, and the audit says who did it and why."""
    page = owner.page
    address = blocked(service)
    page.goto("/console/example-shop/active")
    page.locator(f"a[href$='{address}']").click()
    expect(page.get_by_role("heading", name="Entity", level=1)).to_be_visible()
    lifts = page.get_by_role("button", name="Lift")
    expect(lifts).not_to_have_count(0)
    for left in reversed(range(lifts.count())):
        lifts.first.click()
        page.get_by_label("Reason for the audit log (optional)").fill("a customer called")
        lifts.first.click()
        expect(lifts).to_have_count(left)
    audit = service.control("GET", f"/tenants/{service.tenant_id}/audit?limit=1").json()
    assert (audit[0]["action"], audit[0]["object_id"]) == ("lift", address)
    assert audit[0]["after"]["reason"] == "a customer called"
    page.goto("/console/example-shop/audit")
    expect(page.get_by_role("row").nth(1)).to_contain_text("lift")
    owner.require_silence()


def test_a_change_of_an_expression_is_audited_token_by_token(
    owner: Watched, service: Service
) -> None:
    """The replaced tokens are marked, and the text around them is there once."""
    policies = f"/tenants/{service.tenant_id}/policies"
    before = 'request.path == "/old" && request.method == "POST"'
    [clause, *_] = service.control("GET", policies).json()[0]["clauses"]
    given = {name: clause[name] for name in ("name", "entity_definition_id", "mitigation_id")}
    made = service.control(
        "POST",
        policies,
        {"name": "Tokens", "status": "draft", "expression": before, "clauses": [given]},
    ).json()
    after = {"expression": before.replace("/old", "/new")}
    service.control("PATCH", f"{policies}/{made['policy_id']}", after).raise_for_status()
    page = owner.page
    page.goto("/console/example-shop/audit")
    row = page.get_by_role("row").nth(1)
    row.get_by_text("expression, revision").click()
    value = row.get_by_role("definition").filter(has_text="request.path")
    expect(value).to_have_text('request.path == "/old""/new" && request.method == "POST"')
    expect(value.get_by_role("deletion")).to_have_text('"/old"')
    expect(value.get_by_role("insertion")).to_have_text('"/new"')
    service.control("DELETE", f"{policies}/{made['policy_id']}").raise_for_status()
    owner.require_silence()


def test_an_entity_has_its_windows_and_answers_over_time(owner: Watched, service: Service) -> None:
    """Every window is there with count and threshold, the empty ones too; a timeline says what was
    answered."""
    page = owner.page
    tenant = f"/tenants/{service.tenant_id}"
    entity = blocked(service)
    state = service.control("GET", f"{tenant}/entities/{entity}/state").json()
    page.goto(f"/console/example-shop/entities/{entity}")
    windows = page.get_by_role("region", name="Windows")
    for each in state["windows"]:
        wanted = f"{each['value']} / {each['threshold']} in {each['duration_seconds']} s"
        expect(windows).to_contain_text(wanted)
    policies = service.control("GET", f"{tenant}/policies?limit=500").json()
    definition = state["entity_definition_id"]
    counted = [
        clause
        for policy in policies
        if policy["enabled"] and policy["status"] == "active"
        for clause in policy["clauses"]
        if clause["window"] and clause["entity_definition_id"] == definition
    ]
    assert len(counted) > len(state["windows"]) > 0
    expect(windows.get_by_role("meter")).to_have_count(len(counted))
    answers = page.get_by_role("region", name="Decisions over time")
    answers.get_by_role("button", name="As table").click()
    expect(answers.get_by_role("row").nth(1)).to_be_visible()
    owner.require_silence()


def test_a_new_key_is_shown_once_and_decides(owner: Watched, service: Service) -> None:
    """A key that the page shows is good at once; a revoked key says so."""
    page = owner.page
    page.goto("/console/example-shop/settings")
    region = page.get_by_role("region", name="API keys")
    region.get_by_label("Name").fill("made in the console")
    region.get_by_label("Source").fill("edge-1")
    region.get_by_label("Calls per minute").fill("1234")
    region.get_by_label("Expires").fill("2100-01-01T12:00")
    region.get_by_label("Daemons and captures may sync with it").check()
    page.get_by_role("button", name="Create a key").click()
    shown = page.get_by_role("status").get_by_text("tg_")
    expect(shown).to_be_visible()
    key = shown.inner_text()
    answer = service.post(
        "/runtime/mitigation", b'{"request": {"path": "/"}}', {"x-service-api-key": key}
    )
    assert answer.status_code == 200
    row = page.get_by_role("row", name="made in the console")
    for text in ("edge-1", "1234", "yes"):
        expect(row).to_contain_text(text)
    expect(row.locator("time[datetime^='2100-01-01']")).to_be_visible()
    revoke = page.get_by_role("button", name="Revoke made in the console")
    revoke.click()
    revoke.click()
    expect(page.get_by_role("row", name="made in the console")).to_contain_text("revoked")
    owner.require_silence()


def test_a_replay_counts_what_was_decided(owner: Watched) -> None:
    """The saved definitions over the recorded traffic: counts next to each other."""
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
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="Copy request.path"))
    row = row.filter(has=page.get_by_text("request.path", exact=True))
    expect(row).to_have_count(1)
    expect(row.get_by_role("link", name="Secret probe")).to_be_visible()
    country = page.get_by_role("row").filter(has_text='fields["country"]')
    if not country.count():
        country = page.get_by_role("row").filter(has_text="fields.country")
    expect(country.get_by_role("link", name="Scraping")).to_be_visible()
    owner.require_silence()


def test_the_list_of_policies_says_what_is_most_likely_not_meant(
    owner: Watched, service: Service
) -> None:
    """A policy that can never match has its warning in the list, which opens."""
    page = owner.page
    tenant = f"/tenants/{service.tenant_id}"
    clause = {"name": "never", "expression": 'request.method == "get"', "final": True}
    wanted = {"name": "Never matches", "status": "draft", "clauses": [clause]}
    saved = service.control("POST", f"{tenant}/policies", wanted).json()
    page.goto("/console/example-shop/policies")
    row = page.get_by_role("row", name="Never matches")
    row.get_by_text("1 finding").click()
    expect(row).to_contain_text(saved["warnings"][0]["code"])
    service.control("DELETE", f"{tenant}/policies/{saved['policy_id']}")
    owner.require_silence()
