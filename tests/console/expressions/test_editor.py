"""The editor helps while an expression is written: completions, meanings, findings, matches."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser import THEMES, Watched, violations
from tests.console.places import HOME


def opened(page: Page) -> Locator:
    """The editor of a new action."""
    page.goto(f"{HOME}/actions/new")
    editor = page.get_by_role("textbox", name="Expression")
    editor.click()
    return editor


def write(page: Page, expression: str) -> None:
    """Put an expression in place of what the editor holds."""
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(expression)


@pytest.mark.parametrize(
    ("typed", "chosen", "made"),
    [
        ("request.meth", "request.method", "request.method"),
        ("request.path.startsW", "startsWith", "request.path.startsWith()"),
        ('request.headers["user-a', "request.headers.user-agent", 'request.headers["user-agent"]'),
        ('request.method == "PO', '"POST"', 'request.method == "POST"'),
    ],
)
def test_a_completion_compiles(owner: Watched, typed: str, chosen: str, made: str) -> None:
    """A field, a member, a header, a recent value: choosing one puts in the text that reads it."""
    page = owner.page
    editor = opened(page)
    page.keyboard.type(typed)
    page.get_by_role("option", name=chosen).first.click()
    expect(editor).to_have_text(made)
    owner.require_silence()


def test_a_part_says_its_type_and_meaning(owner: Watched) -> None:
    """Ctrl I explains the field and the function at the cursor, and Escape closes it."""
    page = owner.page
    opened(page)
    write(page, 'request.path.startsWith("/a")')
    expect(page.get_by_text("Cost")).to_be_visible()
    page.keyboard.press("Home")
    page.keyboard.press("Control+i")
    expect(page.locator(".meaning")).to_contain_text("request.path: string")
    page.keyboard.press("Escape")
    expect(page.locator(".meaning")).to_have_count(0)
    for _ in range(16):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Control+i")
    expect(page.locator(".meaning")).to_contain_text("string.startsWith(string) -> bool")
    owner.require_silence()


def test_the_text_is_put_into_its_usual_form(owner: Watched) -> None:
    """Alt F formats, and the expression means what it meant."""
    page = owner.page
    editor = opened(page)
    write(page, 'request.method=="POST"')
    expect(page.get_by_role("button", name="Format")).to_be_visible()
    page.keyboard.press("Alt+f")
    expect(editor).to_have_text('request.method == "POST"')


def test_no_late_answer_replaces_a_newer_one(owner: Watched) -> None:
    """Findings and matches of an earlier text come last, and are dropped."""
    page = owner.page
    late: list[Route] = []

    def hold(route: Route) -> None:
        if "HEAD" in (route.request.post_data or ""):
            late.append(route)
        else:
            route.continue_()

    page.route("**/expressions/check", hold)
    page.route("**/traffic/match", hold)
    opened(page)
    with page.expect_request("**/expressions/check"):
        write(page, 'request.method == "HEAD" && unknown')
    write(page, 'request.method == "POST"')
    samples = page.get_by_role("region", name="Samples").locator("tbody tr")
    expect(samples.first).to_contain_text("POST")
    page.unroute("**/expressions/check")
    for route in late:
        route.continue_()
    page.get_by_label("Name").fill("answered")
    expect(page.locator(".finding")).to_have_count(0)
    expect(samples.first).to_contain_text("POST")


def test_a_draft_counts_what_its_clauses_would_do(owner: Watched) -> None:
    """A policy that is written shows its scope, its clauses and samples over recent traffic."""
    page = owner.page
    page.goto(f"{HOME}/policies/new")
    recent = page.get_by_role("complementary", name="Newest 10,000 events")
    page.get_by_role("group", name="Clause 1").get_by_label("Name").fill("posts")
    page.get_by_role("textbox", name="Condition").click()
    write(page, 'request.method == "POST"')
    expect(recent).to_contain_text("posts: fires")
    expect(recent.get_by_role("region", name="Samples")).to_contain_text("POST")
    owner.require_silence()


def test_the_help_can_be_read_by_everybody(owner: Watched) -> None:
    """No rule is violated while completions, a meaning and a finding are shown, in either theme."""
    page = owner.page
    opened(page)
    found = {}

    def look(state: str) -> None:
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            if said := violations(page):
                found[state, theme] = said

    page.keyboard.type("request.p")
    expect(page.get_by_role("option", name="request.path").first).to_be_visible()
    look("completions")
    page.keyboard.press("Escape")
    write(page, "request.pth")
    expect(page.locator(".finding.error")).to_be_visible()
    look("finding")
    write(page, 'request.method == "POST"')
    expect(page.get_by_role("region", name="Samples")).to_be_visible()
    page.keyboard.press("Home")
    page.keyboard.press("Control+i")
    expect(page.locator(".meaning")).to_be_visible()
    look("meaning")
    assert found == {}
