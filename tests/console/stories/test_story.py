"""A day of an operator, who lets one visitor through and stops another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser import Watched
from tests.console.conftest import started
from tests.console.places import HOME
from tests.service.service_process import Service, stop

STOPPED, ALSO_STOPPED = "203.0.113.77", "203.0.113.80"
PURGE = {"request": {"path": "/cache", "client_ip": "203.0.113.78", "method": "PURGE"}}
LOCK = {"request": {"path": "/locked", "client_ip": "203.0.113.79", "method": "LOCK"}}
MOST = re.compile(r"100%|99\.\d%")
"""Of events have an address."""
NARROW = 'request.method == "PURGE"'


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of these tests alone, with an address that is stopped, and one that should be."""
    made = started(tmp_path_factory.mktemp("story") / "log")
    tell(made)
    yield made
    stop(made.process)


def tell(service: Service) -> None:
    """Send what the stories are about: probes that are stopped, and methods that nobody stops."""
    for address in (STOPPED, ALSO_STOPPED):
        probe = {"path": "/.env", "client_ip": address, "method": "GET"}
        assert service.hot("/beacon/events", [{"request": probe}] * 40).status_code == 200
    for event in (PURGE, LOCK):
        assert service.hot("/beacon/events", [event] * 3).status_code == 200


@pytest.fixture
def operator(browser: Browser, told: Service) -> Iterator[Watched]:
    """A page of the Owner, at the overview."""
    with entered(browser, told) as watched:
        yield watched


@contextmanager
def entered(browser: Browser, service: Service) -> Iterator[Watched]:
    """A page of the Owner, at the overview."""
    context = browser.new_context(base_url=service.base_url)
    context.set_default_timeout(20_000)
    watched = Watched.of(context, service.base_url)
    watched.page.goto(f"/console/#access_token={service.owner_token}")
    watched.page.get_by_role("heading", name="Overview").wait_for()
    yield watched
    context.close()


def reach(wanted: Locator) -> None:
    """Step by Tab to an element, as somebody without a pointer does."""
    expect(wanted).to_be_visible()
    # The editor stands in a shadow root, which has a focus of its own.
    while not wanted.evaluate("element => element === element.getRootNode().activeElement"):
        wanted.page.keyboard.press("Tab")


def search(page: Page, address: str) -> None:
    """Look for an address from any page, by keys."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").locator("input")).to_be_focused()
    page.keyboard.type(address)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Address or network")).to_have_value(address)


def test_a_blocked_visitor_is_found_and_let_through(operator: Watched, told: Service) -> None:
    """Keys alone suffice: the address leads to the decision and its reasons; the mitigation is
    lifted, and the audit shows it."""
    page = operator.page
    search(page, STOPPED)
    rows = page.locator("tbody tr")
    expect(rows.first).to_contain_text(STOPPED)
    page.keyboard.press("Escape")
    page.get_by_label("Address or network").blur()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The explanation reproduces the recorded decision")).to_be_visible()
    expect(page.get_by_role("region", name="Event (redacted)")).to_contain_text("/.env")
    address = told.control("GET", f"/tenants/{told.tenant_id}/active-mitigations").json()
    held = next(each["entity_id"] for each in address if each["key"] == [f"{STOPPED}/32"])
    page.goto(f"{HOME}/entities/{held}")
    expect(page.get_by_role("heading", name="Seen with this entity")).to_be_visible()
    reach(page.get_by_role("button", name="Lift", exact=True).first)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Reason for the audit log (optional)")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("No active mitigations.")).to_be_visible()
    page.goto(f"{HOME}/audit")
    expect(page.get_by_role("row").nth(1)).to_contain_text("lift")
    operator.require_silence()


def test_filters_become_an_action_and_a_policy_that_stops(operator: Watched, told: Service) -> None:
    """Values of the traffic become an action and the draft of a policy; a replay shows a decision
    of it side by side; once it is active, its first match is seen."""
    page = operator.page
    filtered = f"traffic#expression={NARROW.replace('=', '%3D').replace(' ', '+')}"
    page.goto(f"{HOME}/{filtered}")
    expect(page.get_by_text("3 of the newest")).to_be_visible()
    page.get_by_role("link", name="Create an action").click()
    page.get_by_label("Name", exact=True).fill("Purges")
    expect(page.get_by_text("recorded events").or_(page.get_by_text("match")).first).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Purges")).to_be_visible()

    page.goto(f"{HOME}/{filtered}")
    page.get_by_role("link", name="Create a policy").click()
    page.get_by_label("Name", exact=True).first.fill("Stop purges")
    clause = page.get_by_role("group").filter(has=page.get_by_label("Then")).last
    clause.get_by_label("Name", exact=True).fill("any")
    options = page.get_by_label("Then").locator("option")
    block = options.filter(has_text=re.compile("block", re.IGNORECASE)).first
    page.get_by_label("Then").select_option(block.get_attribute("value"))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Stop purges")).to_be_visible()
    policy = page.url.partition("#")[0]

    page.goto(f"{HOME}/replay")
    page.get_by_label("As if active").select_option(label="Stop purges")
    page.get_by_role("button", name="Replay the saved definitions").click()
    expect(page.get_by_text("done:")).to_be_visible()
    page.get_by_label("Count by").select_option("path")
    groups = page.get_by_role("region", name="Common values")
    expect(groups.get_by_role("row", name="/cache")).to_contain_text("3")
    groups.get_by_role("row", name="/cache").get_by_role("button").click()
    both = page.get_by_role("region", name="Recorded and replayed")
    changed = both.get_by_role("row").filter(
        has=page.get_by_role("cell", name="Policy", exact=True)
    )
    expect(changed).to_contain_text("stop-purges")
    expect(changed).to_contain_text("differs")
    expect(
        both.get_by_role("row")
        .filter(has=page.get_by_role("cell", name="Answer", exact=True))
        .get_by_role("cell")
        .nth(1)
    ).to_contain_text("allow")
    # Both sides are explained, each by the definitions that decided.
    for summary, equal in (
        (
            "Explanation of the recorded decision",
            "The explanation reproduces the recorded decision",
        ),
        ("Explanation of the draft's decision", "The explanation reproduces the replayed decision"),
    ):
        side_by_side = page.get_by_role("region", name="Side by side")
        reasons = side_by_side.get_by_role("group").filter(has_text=summary).first
        reasons.locator("summary").first.click()
        expect(reasons.get_by_text(equal)).to_be_visible()
        is_draft = summary.startswith("Explanation of the draft")
        expect(reasons.get_by_role("heading", name="stop-purges")).to_have_count(int(is_draft))

    page.goto(policy)
    page.get_by_label("Status").select_option("active")
    expect(page.get_by_label("Status")).to_have_value("active")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    answer = told.hot("/runtime/mitigation", PURGE).json()
    assert answer["action"]["type"] == "block"
    page.goto(f"{policy}/results")
    expect(page.get_by_role("heading", name="Matched decisions: 1")).to_be_visible()
    operator.require_silence()


def test_the_key_doctor_has_a_verdict(operator: Watched, told: Service) -> None:
    """The page of an entity definition says what recorded events say of its key."""
    page = operator.page
    kinds = told.control("GET", f"/tenants/{told.tenant_id}/entity-definitions").json()
    address = next(each for each in kinds if each["slug"] == "address")
    page.goto(f"{HOME}/entity-definitions/{address['entity_definition_id']}")
    health = page.get_by_role("region", name="Key quality")
    expect(health.get_by_text("key").first).to_be_visible()
    expect(health.get_by_role("row", name="derived.client_network")).to_contain_text(MOST)
    operator.require_silence()


def test_the_overview_splits_decisions(operator: Watched) -> None:
    """Reasons, policies and API keys are rows with a line each, and the address keeps the choice;
    the service says how it stands."""
    page = operator.page
    expect(page.get_by_text("The service is ready.")).to_be_visible()
    page.get_by_label("Split by").select_option("reason")
    expect(page.get_by_role("row", name="no policy matched")).to_be_visible()
    assert "by=reason" in page.url
    page.get_by_label("Split by").select_option("policy")
    expect(page.get_by_role("row", name="Scanners").first).to_be_visible()
    operator.require_silence()


def test_policies_are_moved_and_mitigations_lifted_together(
    operator: Watched, told: Service
) -> None:
    """Alt and an arrow move a policy; many mitigations are lifted with one reason."""
    page = operator.page
    page.goto(f"{HOME}/policies")
    names = page.locator("tbody tr td:nth-child(3) a")
    expect(names.first).to_be_visible()
    before = names.all_inner_texts()
    page.get_by_role("button", name=f"Move down: {before[0]}", exact=False).focus()
    page.keyboard.press("Alt+ArrowDown")
    expect(names.first).to_have_text(before[1])
    expect(names.nth(1)).to_have_text(before[0])
    page.goto(f"{HOME}/active")
    page.get_by_text("Lift many").click()
    count = page.get_by_role("button", name="Count them")
    expect(count).to_be_disabled()
    page.get_by_label("Reason for the audit log", exact=True).fill("a wrong rule")
    count.click()
    lift = page.get_by_role("button", name="Lift all of these")
    expect(lift).to_be_disabled()
    held = told.control("GET", f"/tenants/{told.tenant_id}/active-mitigations?limit=500").json()
    page.get_by_label(f"Type {len(held)} to confirm").fill(str(len(held)))
    lift.click()
    expect(page.get_by_text("No active mitigations.")).to_be_visible()
    held = told.control("GET", f"/tenants/{told.tenant_id}/active-mitigations").json()
    assert held == []
    operator.require_silence()


def test_the_settings_of_the_tenant_are_changed(operator: Watched, told: Service) -> None:
    """An Owner changes how long events are kept; the other settings stay."""
    page = operator.page
    tenant = f"/tenants/{told.tenant_id}"
    before = told.control("GET", tenant).json()["settings"]
    page.goto(f"{HOME}/settings")
    form = page.get_by_role("region", name="Tenant")
    form.get_by_label("Event retention (days)").fill("21")
    form.get_by_label("Event retention (days)").blur()
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("Saved.")).to_be_visible()
    after = told.control("GET", tenant).json()["settings"]
    assert after == {**before, "retention_days": 21}
    operator.require_silence()
