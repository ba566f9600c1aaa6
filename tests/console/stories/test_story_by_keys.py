"""The whole day of an operator who has no pointer, and types no address of a page."""

from __future__ import annotations

from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser import Watched
from tests.console.stories.test_story import (
    ALSO_STOPPED,
    LOCK,
    entered,
    operator,
    reach,
    search,
    told,
)
from tests.service.service_process import Service

__all__ = ["operator", "told"]
PATIENCE = 120_000
"""Milliseconds that a replay of all recorded events may take."""
NARROW = 'request.method == "LOCK"'


def press(wanted: Locator) -> None:
    """Reach a button or link, and press it."""
    reach(wanted)
    wanted.page.keyboard.press("Enter")


def named(page: Page, role: str, name: str) -> Locator:
    """The first element with a role and exactly a name."""
    return page.get_by_role(role, name=name, exact=True).first  # type: ignore[arg-type]


def fill(wanted: Locator, text: str) -> None:
    """Reach a field, and type into it in place of what it holds."""
    reach(wanted)
    wanted.page.keyboard.press("Control+A")
    wanted.page.keyboard.type(text)


def choose(page: Page, label: str, option: str) -> None:
    """Reach a choice, and step down to the first option that has a text."""
    choice = named(page, "combobox", label)
    reach(choice)
    names = choice.locator("option").all_inner_texts()
    page.keyboard.press("Home")
    for _ in range(next(at for at, name in enumerate(names) if option in name)):
        page.keyboard.press("ArrowDown")
    expect(choice.locator("option:checked")).to_contain_text(option)


def go(page: Page, letter: str, heading: str) -> None:
    """Go to a page by `g` and its letter."""
    page.keyboard.press("g")
    page.keyboard.press(letter)
    expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible()


def let_through(page: Page, address: str) -> None:
    """Go from the address to the reason, to the entity, to the audit."""
    search(page, address)
    expect(page.locator("tbody tr").first).to_contain_text(address)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The explanation reproduces the recorded decision")).to_be_visible(
        timeout=PATIENCE
    )
    press(named(page, "link", f"{address}/32"))
    press(named(page, "button", "Lift"))
    expect(page.get_by_label("Reason for the audit log (optional)")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("No active mitigations.")).to_be_visible()
    go(page, "u", "Audit")
    expect(page.get_by_role("row").nth(1)).to_contain_text("lift")


def narrow(page: Page, makes: str) -> None:
    """Go from recorded traffic to a form that has its expression."""
    go(page, "t", "Traffic")
    expect(page.get_by_text("events match")).to_be_visible()
    fill(page.get_by_role("textbox", name="Expression"), NARROW)
    page.keyboard.press("Escape")
    press(named(page, "button", "Run query"))
    expect(page.get_by_text("3 of the newest")).to_be_visible()
    press(named(page, "link", makes))


def stop_locks(page: Page) -> None:
    """An action and the draft of a policy, replayed, looked at, and active."""
    narrow(page, "Create an action")
    fill(named(page, "textbox", "Name"), "Locks")
    expect(page.get_by_text("3 of the newest")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Locks")).to_be_visible()

    narrow(page, "Create a policy")
    fill(named(page, "textbox", "Name"), "Stop locks")
    clause = page.get_by_role("group", name="Clause 1")
    fill(clause.get_by_label("Name"), "any")
    choose(page, "Then", "(Block)")
    press(named(page, "button", "Save"))
    expect(page.get_by_role("heading", name="Stop locks")).to_be_visible()

    press(named(page, "link", "Replay as if active"))
    expect(page.get_by_label("As if active")).not_to_have_value("")
    press(page.get_by_role("button", name="Replay the saved definitions"))
    expect(page.get_by_text("done:")).to_be_visible(timeout=PATIENCE)
    choose(page, "Count by", "Path")
    groups = page.get_by_role("region", name="Common values")
    press(groups.get_by_role("row", name="/locked").get_by_role("button"))
    both = page.get_by_role("region", name="Recorded and replayed")
    changed = both.get_by_role("row").filter(
        has=page.get_by_role("cell", name="Policy", exact=True)
    )
    expect(changed).to_contain_text("stop-locks")
    expect(changed).to_contain_text("differs")
    expect(
        both.get_by_role("row")
        .filter(has=page.get_by_role("cell", name="Answer", exact=True))
        .get_by_role("cell")
        .nth(1)
    ).to_contain_text("allow")

    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").locator("input")).to_be_focused()
    page.keyboard.type("Stop locks")
    expect(page.get_by_role("dialog").get_by_role("listitem").first).to_contain_text("Stop locks")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Stop locks")).to_be_visible()
    choose(page, "Status", "active")
    press(named(page, "button", "Save"))
    expect(page.get_by_text("Saved.")).to_be_visible()


def test_all_of_it_is_done_by_keys(operator: Watched, told: Service) -> None:
    """Somebody is let through, and somebody else is stopped, without a pointer and without an
    address of a page."""
    page = operator.page
    let_through(page, ALSO_STOPPED)
    stop_locks(page)
    assert told.hot("/runtime/mitigation", LOCK).json()["action"]["type"] == "block"
    press(named(page, "link", "Results"))
    expect(page.get_by_role("heading", name="Matched decisions: 1")).to_be_visible()
    operator.require_silence()


def test_the_time_range_goes_along(browser: Browser, told: Service) -> None:
    """A chosen range stays from page to page, and a copied link has its two times."""
    with entered(browser, told) as watched:
        page = watched.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_label("Time range").select_option("24h")
        for name in ("Decisions", "Policies", "Traffic"):
            page.get_by_role("link", name=name, exact=True).click()
            expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
            assert page.url.endswith("#range=24h")
        page.get_by_role("button", name="Account").click()
        page.get_by_role("button", name="Copy link").click()
        link = page.evaluate("navigator.clipboard.readText()")
        assert "from=" in link
        assert "to=" in link
        page.goto(link)
        expect(page.get_by_label("Time range")).to_have_value("own")
        expect(page.get_by_role("textbox", name="From")).to_be_visible()
        watched.require_silence()
