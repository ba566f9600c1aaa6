"""Operators write conditions as rows, and see the same expression as text."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser import THEMES, Watched, violations
from tests.console.places import HOME
from tests.console.test_access import width_of

MIXED = """// why
request.method == "POST" // kept
  && (request.path.startsWith("/a") || !(request.path in ["/b", "/c"]))
  && request.headers.exists(name, name == "x")"""


def in_rows(page: Page, expression: str) -> Locator:
    """The rows of a new action's expression."""
    page.goto(f"{HOME}/actions/new")
    page.get_by_role("textbox", name="Expression").click()
    page.keyboard.insert_text(expression)
    page.get_by_role("button", name="As rows").click()
    return page.get_by_role("group", name="Expression", exact=True)


def as_text(page: Page) -> str:
    """The text in the editor."""
    page.get_by_role("button", name="As text").click()
    editor = page.get_by_role("textbox", name="Expression")
    expect(editor).to_be_visible()
    return "\n".join(editor.locator(".cm-line").all_inner_texts())


TYPED_AT_ONCE = """new MutationObserver((_, observer) => {
  const field = document.querySelector(".rows input[aria-label=Value]");
  if (field === null) return;
  observer.disconnect();
  field.value = "20";
  field.dispatchEvent(new Event("input", {bubbles: true}));
}).observe(document, {childList: true, subtree: true})"""
"""Types into a row before the first paint, as a fast pointer on a slow machine does."""


def add(rows: Locator, button: str, field: str, operator: str, value: str) -> None:
    """One condition more, typed."""
    rows.get_by_role("button", name=button).last.click()
    fresh = rows.get_by_role("group", name="New condition")
    fresh.get_by_label("Field").fill(field)
    fresh.get_by_label("Comparison").select_option(label=operator)
    fresh.get_by_label("Value").fill(value)
    fresh.get_by_role("button", name="Add").click()


def test_a_row_is_changed_and_the_rest_stays(owner: Watched) -> None:
    """One value changes in the text; comments, lines and what rows cannot say are as they were."""
    page = owner.page
    rows = in_rows(page, MIXED)
    values = rows.get_by_label("Value", exact=True)
    expect(values.first).to_have_value("POST")
    expect(rows.get_by_label("Expression")).to_have_value(
        'request.headers.exists(name, name == "x")'
    )
    values.first.fill('GET "x"')
    values.first.press("Enter")
    assert as_text(page) == MIXED.replace('"POST"', r'"GET \"x\""')
    owner.require_silence()


def test_an_expression_is_made_of_rows(owner: Watched) -> None:
    """Conditions, an alternative, a list and a number: the text is what one would write."""
    page = owner.page
    rows = in_rows(page, "")
    rows = page.locator(".rows")
    add(rows, "Add a condition", "request.method", "is one of", "POST, PUT")
    add(rows, "Add a condition", "size(request.path)", "more than", "20")
    add(rows, "Or …", "request.path", "not: ends with", "/login")
    rows.get_by_label("Joined").last.select_option(label="all of these")
    expect(page.get_by_text("Cost")).to_be_visible()
    rows.get_by_role("button", name="Remove").first.click()
    assert as_text(page) == '(size(request.path) > 20 && !request.path.endsWith("/login"))'
    owner.require_silence()


@pytest.mark.parametrize("value", ['20" ||', "1 && derived.is_bot", ""])
def test_a_value_that_is_none_is_not_taken(owner: Watched, value: str) -> None:
    """The row says so, and the text stays as it was."""
    page = owner.page
    rows = in_rows(page, "size(request.path) > 2")
    field = rows.get_by_label("Value")
    field.fill(value)
    field.press("Enter")
    expect(rows.get_by_role("alert")).to_contain_text("isn't a comparison")
    assert as_text(page) == "size(request.path) > 2"


def test_a_value_typed_before_the_first_paint_is_kept(owner: Watched) -> None:
    """The row doesn't return to the value that it had."""
    page = owner.page
    page.add_init_script(TYPED_AT_ONCE)
    rows = in_rows(page, "size(request.path) > 2")
    rows.get_by_label("Value").press("Enter")
    assert as_text(page) == "size(request.path) > 20"


def test_a_text_that_does_not_parse_is_one_row(owner: Watched) -> None:
    """It is shown and can be mended; then it has rows."""
    page = owner.page
    in_rows(page, 'request.method == "POST" &&')
    whole = page.get_by_role("textbox", name="Expression")
    whole.fill('request.method == "POST" && derived.is_bot')
    whole.press("Tab")
    expect(page.locator(".rows").get_by_label("Value")).to_have_value("POST")


def test_rows_can_be_read_by_everybody(owner: Watched) -> None:
    """No rule is violated in either theme, nor is anything wider than a small screen."""
    page = owner.page
    rows = in_rows(page, MIXED)
    rows.get_by_role("button", name="Add a condition").last.click()
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert violations(page) == []
    assert width_of(page, 320) == 320
    owner.require_silence()
