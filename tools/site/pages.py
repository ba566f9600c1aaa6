"""``python -m tools.site.pages [DIR]``: the site before it is built, made of the Markdown here.

The Markdown is written to be read in the repository: its links lead to files. On the site a link to
another page stays one, and a link to any other file leads to the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from tools.site import reference_pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SETTINGS = Path(__file__).with_name("mkdocs.yml")
AT_THE_TOP = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
}
UNSEARCHED = ("changelog.md", "decisions/")
"""Pages that a search passes over: their words are those of all other pages."""
_EXCLUDED = "---\nsearch:\n  exclude: true\n---\n\n"
_LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_NAMED_BLOCK = re.compile(r"^(```\w+) [\w.-]+=\S+$", re.MULTILINE)
"""A block of code with the name of its file, for the tests that run it."""
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_PARAGRAPH = re.compile(r"^[A-Z`*].*", re.DOTALL)


class BrokenLinkError(Exception):
    """A page links to a file that doesn't exist."""


def made(site: Path) -> list[str]:
    """Write every page of the site, and the settings of the generator.

    Args:
        site: the folder; it is replaced.

    Returns:
        The names of the pages.

    Raises:
        BrokenLinkError: a link leads nowhere.
    """
    shutil.rmtree(site, ignore_errors=True)
    target = site / "docs"
    pages = dict(_sources())
    for name, path in pages.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        head = _EXCLUDED if name.startswith(UNSEARCHED) else ""
        place.write_text(head + page_of(path, name, pages))
    shutil.copytree(DOCS / "pictures", target / "pictures")
    shutil.copy(DOCS / "openapi.json", target)
    reference_pages.write(target / "reference")
    names = [*pages, *(f"reference/{each.name}" for each in (target / "reference").iterdir())]
    (target / "llms.txt").write_text(summary(target))
    shutil.copy(SETTINGS, site)
    return names


def page_of(path: Path, name: str, pages: dict[str, Path]) -> str:
    """A file of the repository as a page.

    Args:
        path: the file.
        name: the page.
        pages: the files of all pages.
    """
    by_path = {each: page for page, each in pages.items()}
    repository = settings()["extra"]["repository"]

    def led(match: re.Match[str]) -> str:
        target, anchor = (path.parent / match[1]).resolve(), match[2] or ""
        if not target.exists():
            raise BrokenLinkError(f"{path.relative_to(ROOT)} links to {match[1]}")
        if target in by_path:
            return os.path.relpath(by_path[target], Path(name).parent) + anchor
        if target.parent == DOCS / "pictures" or target == DOCS / "openapi.json":
            return os.path.relpath(target.relative_to(DOCS), Path(name).parent)
        kind = "tree" if target.is_dir() else "blob"
        return f"{repository}/{kind}/main/{target.relative_to(ROOT).as_posix()}{anchor}"

    text = _ROW.sub(_with_bars, _NAMED_BLOCK.sub(r"\1", path.read_text()))
    return _LINK.sub(led, text)


def summary(target: Path) -> str:
    """``llms.txt`` (llmstxt.org): every page with its first sentence.

    Args:
        target: the folder of the pages.
    """
    known = settings()
    lines = [f"# {known['site_name']}", "", f"> {known['site_description']}"]
    for part in known["nav"]:
        for title, entries in part.items():
            lines += ["", f"## {title}", "", *(_line(target, name) for name in names_in(entries))]
    return "\n".join(lines) + "\n"


def settings() -> dict[str, Any]:
    """The settings of the generator."""
    found: dict[str, Any] = yaml.safe_load(SETTINGS.read_text())
    return found


def names_in(entries: Any) -> Iterator[str]:
    """The pages in a part of the navigation."""
    if isinstance(entries, str):
        yield entries
    else:
        for each in entries.values() if isinstance(entries, dict) else entries:
            yield from names_in(each)


def _sources() -> Iterator[tuple[str, Path]]:
    for name, page in AT_THE_TOP.items():
        yield page, ROOT / name
    for path in sorted(DOCS.rglob("*.md")):
        yield path.relative_to(DOCS).as_posix(), path


def _with_bars(row: re.Match[str]) -> str:
    """A row of a table in which code has its bars: the generator shows their backslashes."""
    return _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0])


def _line(target: Path, page: str) -> str:
    text = (target / page).read_text().removeprefix(_EXCLUDED)
    title, *paragraphs = text.split("\n\n")
    first = next((each for each in paragraphs if _PARAGRAPH.match(each)), "")
    sentence = re.split(r"(?<=\.)\s", " ".join(first.split()), maxsplit=1)[0]
    return f"- [{title.removeprefix('# ').strip()}]({page.replace('.md', '.html')}): {sentence}"


if __name__ == "__main__":
    try:
        print(f"{len(made(Path(sys.argv[1]) if sys.argv[1:] else ROOT / 'target' / 'site'))} pages")
    except BrokenLinkError as error:
        sys.exit(f"error: {error}")
