"""Searches and tokens of an operator leave no track."""

from __future__ import annotations

from urllib.parse import unquote

from playwright.sync_api import Page, Request, expect
from tests.browser import Watched
from tests.console.places import HOME, open_place, places, prepare
from tests.console.stories.test_story import search
from tests.service.service_process import Service

ADDRESS, ACCOUNT = "203.0.113.211", "somebody@example.test"
KEPT = """() => ({
  local: Object.entries(localStorage),
  session: Object.entries(sessionStorage),
  cookies: document.cookie,
  caches: performance.getEntriesByType('resource').map((each) => each.name),
})"""


def requests_of(page: Page) -> list[Request]:
    """Every request of a page from now on."""
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    return asked


def test_what_is_looked_for_is_in_no_request_line_and_no_log(
    owner: Watched, service: Service
) -> None:
    """Addresses, accounts and expressions are sent in bodies: no address of a request, no header
    and no log of the service has them."""
    page = owner.page
    asked = requests_of(page)
    search(page, ADDRESS)
    page.goto(f"{HOME}/decisions#path=%2F{ACCOUNT}")
    expect(page.get_by_text("No decisions in this time range.")).to_be_visible()
    page.goto(f"{HOME}/entities#key={ADDRESS}")
    page.get_by_role("button", name="Find entity").click()
    expect(page.get_by_role("alert")).to_be_visible()
    with page.expect_response("**/traffic/match"):
        page.goto(f"{HOME}/traffic#expression=request.path+%3D%3D+%22{ACCOUNT}%22")
    assert len(asked) > 4
    for secret in (ADDRESS, ACCOUNT):
        assert any(secret in (each.post_data or "") for each in asked), secret
        lines = [unquote(each.url.partition("#")[0]) for each in asked]
        sent = [value for each in asked for value in each.headers.values()]
        assert not [each for each in lines + sent if secret in each]
        assert secret not in service.log.read_text()


def test_the_token_is_nowhere_but_in_its_place(owner: Watched, service: Service) -> None:
    """After every page was shown, the token is in the storage under its name, in headers of calls,
    and in no address, no other storage and no log."""
    page, token = owner.page, service.owner_token
    asked = requests_of(page)
    prepare(service)
    for path in places(service).values():
        open_place(page, path)
        assert token not in page.url
    kept = page.evaluate(KEPT)
    assert [name for name, value in kept["local"] if token in value] == ["service.auth_token"]
    assert token not in str([kept["session"], kept["cookies"], kept["caches"]])
    assert not [each.url for each in asked if token in each.url]
    assert not [each.url for each in asked if token in (each.post_data or "")]
    assert {name for each in asked for name, value in each.headers.items() if token in value} == {
        "authorization"
    }
    assert token not in service.log.read_text()
