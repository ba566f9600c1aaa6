"""The documentation as a site, before its generator sees it; ``make docs`` builds the whole."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.site import pages

from tidegate.cli.commands import SENTENCES


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, process: None) -> Path:
    """Every page; a link that leads nowhere would end this."""
    folder = tmp_path_factory.mktemp("site") / "site"
    # A process of its own: commands read the settings when they are imported.
    command = [sys.executable, "-m", "tools.site.pages", str(folder)]
    subprocess.run(command, cwd=pages.ROOT, capture_output=True, check=True)
    return folder / "docs"


def test_every_page_is_in_the_navigation(site: Path) -> None:
    """The pages of decisions are reached from the others."""
    written = {path.relative_to(site).as_posix() for path in site.rglob("*.md")}
    named = set(pages.names_in(pages.settings()["nav"]))
    assert named == {name for name in written if not name.startswith("decisions/")}


def test_links_between_pages_lead_to_pages(site: Path) -> None:
    """Other files of the repository are linked where it is hosted."""
    for path in site.rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)\s#]+)", text):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
    assert "OWNER/tidegate/blob/main/deploy/" in (site / "service.md").read_text()


def test_code_in_tables_has_its_bars(site: Path) -> None:
    """The repository needs a backslash before a bar in a table; on the site it would be shown."""
    assert (
        '`{"action": {"type": "allow" | "challenge" | "block", ...}'
        in (site / "service.md").read_text()
    )
    pages_with = [
        path.name
        for path in site.rglob("*.md")
        if re.search(r"^\|.*`[^`]*\\\|", path.read_text(), re.MULTILINE)
    ]
    assert not pages_with


def test_commands_settings_and_codes_are_those_of_the_source(site: Path) -> None:
    """Each command has a heading, each setting a row."""
    commands = (site / "reference/commands.md").read_text()
    for name in SENTENCES:
        assert f"\n### tidegate {name}\n" in commands
    assert (
        "| `server.port`<br>`TIDEGATE_SERVER_PORT`" in (site / "reference/settings.md").read_text()
    )
    assert "\n## never-true\n" in (site / "reference/codes.md").read_text()


def test_a_link_that_leads_nowhere_ends_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the page and the link."""
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("# A\n\nSee [b](b.md).\n")
    with pytest.raises(pages.BrokenLinkError, match=r"a\.md links to b\.md"):
        pages.page_of(page, "a.md", {})


def test_programs_find_every_page_with_a_sentence(site: Path) -> None:
    """``llms.txt`` has each page of the navigation, with what it is about."""
    lines = [line for line in (site / "llms.txt").read_text().splitlines() if line.startswith("- ")]
    assert len(lines) == len(list(pages.names_in(pages.settings()["nav"])))
    assert not [line for line in lines if line.endswith(": ")]
