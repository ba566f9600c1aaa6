"""The states of a page: awaited, empty, partial, refused, failed, and old while nobody answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.browser import THEMES, Watched, violations
from tests.console.places import ALONE, HOME, open_place
from tests.server.deciding import Deciding, deciding
from tests.service.service_process import Service

UNKNOWN = "00000000-0000-4000-8000-000000000000"
NOTHING = {"apiVersion": "tidegate/v1"}


def accessible(page: Page) -> None:
    """axe-core finds nothing in either theme."""
    page.emulate_media(reduced_motion="reduce")
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        assert violations(page) == []


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deciding]:
    """A tenant with nothing in it but its members and a key."""
    with deciding(tmp_path_factory.mktemp("bare")) as service:
        yield service.tenant(NOTHING)


def entered(browser: Browser, tenant: Deciding, role: str) -> tuple[Watched, str]:
    """A page of a member, and the address of the tenant in the console."""
    base_url = tenant.service.base_url
    context = browser.new_context(base_url=base_url)
    context.set_default_timeout(20_000)
    watched = Watched.of(context, base_url)
    watched.page.goto(f"/console/#access_token={tenant.by(role).token}")
    watched.page.get_by_role("heading", name="Overview").wait_for()
    return watched, f"/console/{tenant.by(role).get(tenant.path).json()['slug']}"


def test_every_empty_page_says_how_to_begin(browser: Browser, bare: Deciding) -> None:
    """A tenant without traffic and definitions: each page can be read, and the first ones teach."""
    watched, home = entered(browser, bare, "Owner")
    page = watched.page
    taught = {
        "overview": "curl",
        "decisions": "curl",
        "policies": "New policy",
        "actions": "No actions yet",
        "entities": "New entity definition",
        "active": "No active mitigations.",
        "overrides": "Nobody is banned or let through by hand.",
        "alerts": "No alerts.",
        "replay": "No replays yet.",
        "lists": "No lists yet.",
        "mitigations": "No mitigations yet.",
        "traffic": "curl",
    }
    for name, path in ALONE.items():
        open_place(page, f"{home}/{path}")
        if name in taught:
            expect(page.locator("main")).to_contain_text(taught[name])
        accessible(page)
    watched.require_silence()
    page.context.close()


def test_a_page_that_a_role_may_not_read_can_be_read(browser: Browser, bare: Deciding) -> None:
    """The refusal of a Viewer says which role reads the page."""
    watched, home = entered(browser, bare, "Viewer")
    open_place(watched.page, f"{home}/traffic")
    expect(watched.page.get_by_text("Requires the role Analyst, Admin or Owner.")).to_be_visible()
    accessible(watched.page)
    watched.page.context.close()


def test_a_page_that_waits_says_so_and_only_then(owner: Watched) -> None:
    """An answer that is late is awaited in words; the words go when it is there."""
    page = owner.page
    held: list[Route] = []
    page.route("**/actions?**", lambda route: held.append(route))
    page.goto(f"{HOME}/actions")
    expect(page.get_by_text("Loading …")).to_be_visible()
    accessible(page)
    held[0].continue_()
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)
    owner.require_silence()


def test_a_page_that_failed_says_why_and_can_be_asked_again(owner: Watched) -> None:
    """A page of a missing object shows the code, and buttons to copy the request ID and retry."""
    page = owner.page
    page.goto(f"{HOME}/actions/{UNKNOWN}")
    problem = page.get_by_role("alert")
    expect(problem).to_contain_text("not-found")
    expect(problem.get_by_role("button", name="Copy Request ID")).to_be_visible()
    expect(problem.get_by_role("button", name="Try again")).to_be_visible()
    accessible(page)


def test_a_look_that_is_not_whole_says_so(owner: Watched, service: Service) -> None:
    """The newest events alone were looked at: the page says how many, and that there are more."""
    assert service.control("GET", f"/tenants/{service.tenant_id}/status").json()["ready"]
    page = owner.page

    def fewer(route: Route) -> None:
        asked = route.request.post_data_json | {"newest": 10}
        route.continue_(post_data=asked)

    page.route("**/traffic/match", fewer)
    page.goto(f"{HOME}/traffic")
    expect(page.get_by_text("10 of the newest 10 events match.")).to_be_visible()
    accessible(page)
    owner.require_silence()


def test_what_is_shown_stays_while_nobody_answers(owner: Watched) -> None:
    """Without a network the page says since when, keeps what it had, and goes on by itself."""
    page = owner.page
    page.goto(f"{HOME}/actions")
    rows = page.locator("tbody tr")
    expect(rows.first).to_be_visible()
    before = rows.count()
    page.context.set_offline(True)
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text("The service has been unreachable since")).to_be_visible()
    assert rows.count() == before
    accessible(page)
    page.context.set_offline(False)
    expect(page.get_by_text("The service has been unreachable since")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert rows.count() == before
