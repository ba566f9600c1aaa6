"""Plots: shown, brushed, clicked, read as a table."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect
from tests.browser import Watched, box_of
from tests.console.places import HOME

PIXELS = """(canvas) => {
  // The plot's own canvas isn't made to be read.
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, copy.width, copy.height);
  const colours = new Map();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 255) continue;
    const name = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
    colours.set(name, (colours.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(colours);
}"""
"""How many pixels of a canvas have each colour."""
IS_DRAWN = f"colour => ({PIXELS})(document.querySelector('.plot canvas'))[colour] > 9"
COLOUR = """(name) => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}"""
ANSWERS = ("--plot-allow", "--plot-challenge", "--plot-block")


def plotted(page: Page) -> Locator:
    """The part of a plot that takes the pointer, once it is drawn."""
    over = page.locator(".plot .u-over")
    expect(over).to_be_visible()
    return over


def test_a_plot_has_the_colours_of_the_theme(owner: Watched) -> None:
    """Each answer is drawn in its colour, and in that of the other theme after a change."""
    page = owner.page
    page.goto(f"{HOME}/#range=15m")
    plotted(page)
    for theme in ("light", "dark", "light"):
        page.emulate_media(color_scheme=theme)
        for name in ANSWERS:
            colour = page.evaluate(COLOUR, name)
            page.wait_for_function(IS_DRAWN, arg=colour)
    owner.require_silence()


def test_a_brush_sets_the_time_range(owner: Watched) -> None:
    """Two times of a drag are the range of every page, and in the address."""
    page = owner.page
    page.goto(f"{HOME}/#range=15m")
    box = box_of(plotted(page))
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.25, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, middle, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("#from=.*&to="))
    expect(page.get_by_label("Time range")).to_have_value("own")
    owner.require_silence()


def test_a_click_opens_the_decisions_of_its_step(owner: Watched) -> None:
    """The tooltip has the counts of the step under the pointer; a click lists its decisions."""
    page = owner.page
    page.goto(f"{HOME}/#range=15m")
    over = plotted(page)
    box = box_of(over)
    tip = page.locator(".plot .tip")
    found = False
    for step in range(60):
        page.mouse.move(box["x"] + box["width"] * (1 - (step + 0.5) / 60), box["y"] + 60)
        expect(tip).to_be_visible()
        found = re.search(r"allow [1-9]", tip.inner_text()) is not None
        if found:
            break
    assert found, "no step has decisions"
    assert re.search(r"block \d", tip.inner_text())
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_role("heading", name="Decisions", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile("decisions#from=.*&to="))
    expect(page.locator("tbody tr").first).to_be_visible()
    owner.require_silence()


def test_a_table_has_the_figures_of_a_plot_and_leads_to_the_same_decisions(
    owner: Watched,
) -> None:
    """The scales can be chosen; the table has the counts, and a link for each step."""
    page = owner.page
    page.goto(f"{HOME}/#range=15m")
    plotted(page)
    for name in ("Share", "Log", "Count"):
        button = page.get_by_role("button", name=name, exact=True)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        plotted(page)
    page.get_by_role("button", name="As table").click()
    table = page.get_by_role("region", name=re.compile("^Decisions, and|^Decisions$"))
    table = table.filter(has=page.get_by_role("columnheader", name="Total"))
    expect(table.locator("tbody tr").first).to_be_visible()
    table.locator("tbody tr").first.get_by_role("link").click()
    expect(page).to_have_url(re.compile("decisions#from=.*&to="))
    owner.require_silence()
