"""The traffic pages, from filters to an action that recognises the traffic."""

from __future__ import annotations

import re

from playwright.sync_api import Route, expect
from tests.browser import Watched
from tests.console.places import HOME


def test_a_value_narrows_the_traffic_and_becomes_an_action(owner: Watched) -> None:
    """A value of a facet narrows the expression; the samples follow; an action is made of it."""
    page = owner.page
    page.goto(f"{HOME}/traffic")
    expect(page.get_by_text("events match")).to_be_visible()
    page.get_by_role("button", name="POST", exact=True).click()
    samples = page.get_by_role("region", name="Samples").locator("tbody tr")
    expect(samples.first).to_contain_text("POST")
    expect(page.get_by_role("textbox", name="Expression")).to_contain_text(
        'request.method == "POST"'
    )
    page.get_by_role("link", name="Create an action").click()
    expect(page.get_by_role("heading", name="New action")).to_be_visible()
    expect(page.get_by_role("textbox", name="Expression")).to_contain_text(
        'request.method == "POST"'
    )
    owner.require_silence()


def test_a_late_answer_replaces_no_newer_one(owner: Watched) -> None:
    """The answer to an earlier expression comes last, and is dropped."""
    page = owner.page
    late: list[Route] = []

    def hold(route: Route) -> None:
        if "HEAD" in (route.request.post_data or "") and not late:
            late.append(route)
        else:
            route.continue_()

    page.route("**/traffic/match", hold)
    with page.expect_request("**/traffic/match"):
        page.goto(f"{HOME}/traffic#expression=request.method+%3D%3D+%22HEAD%22")
    page.goto(f"{HOME}/traffic#expression=request.method+%3D%3D+%22POST%22")
    samples = page.get_by_role("region", name="Samples").locator("tbody tr")
    expect(samples.first).to_contain_text("POST")
    shown = page.get_by_text("events match").inner_text()
    assert len(late) == 1
    late[0].continue_()
    page.get_by_role("button", name="As table").click()
    expect(page.get_by_text("events match")).to_have_text(shown)
    expect(samples.first).to_contain_text("POST")


def test_a_visitor_is_found_by_the_address(owner: Watched) -> None:
    """Decisions are searched by address; what is looked for is in no request line."""
    page = owner.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{HOME}/decisions")
    cells = page.locator("tbody tr td:nth-child(5)")
    address = cells.filter(has_text=re.compile(r"\d")).first.inner_text()
    page.get_by_label("Address or network").fill(address)
    page.keyboard.press("Enter")
    page.get_by_label("Address or network").blur()
    expect(cells.filter(has_not_text=address)).to_have_count(0)
    expect(cells.filter(has_text=address).first).to_be_visible()
    assert not any(address in url.partition("#")[0] for url in asked)
    owner.require_silence()
