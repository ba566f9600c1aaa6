"""Pages: escaped, under a strict policy, of files that are as they were published."""

from __future__ import annotations

import re

import pytest
from tools import widget

from tidegate_server.challenges.view import problem_page
from tidegate_server.http.given import Given
from tidegate_server.http.problems import KINDS, Problem
from tidegate_server.pages.languages import languages
from tidegate_server.pages.page import FILE_TYPES, content_policy, page

HOSTILE = "</p><script>alert(1)</script>\"'&"

ORIGIN = widget.origin()


def directives(policy: str) -> dict[str, list[str]]:
    """The sources of a content policy, by directive."""
    return {name: sources for name, *sources in (part.split() for part in policy.split(";"))}


def test_what_a_page_shows_is_escaped() -> None:
    """Text and addresses that come from elsewhere stay text."""
    made = page(
        "message.html",
        languages()["en"],
        "",
        heading=HOSTILE,
        text=HOSTILE,
        link=f"https://a.test/{HOSTILE}",
        link_text=HOSTILE,
        reference=HOSTILE,
    )
    content = bytes(made.body).decode()
    assert "<script" not in content
    assert content.count("&lt;script&gt;") == 6


def test_a_policy_allows_nothing_inline_and_no_frame() -> None:
    """Other sources that a page needs are added to its own files, and nothing else changes."""
    found = directives(content_policy({"script-src": ["https://x.test"], "frame-src": ["y"]}))
    assert found["default-src"] == found["base-uri"] == found["frame-ancestors"] == ["'none'"]
    assert found["script-src"] == ["'self'", "https://x.test"]
    assert found["frame-src"] == ["y"]
    assert "unsafe-inline" not in content_policy({})


@pytest.mark.parametrize("code", KINDS)
def test_every_problem_has_a_page(code: str) -> None:
    """Each problem's page has its status, the id in the log, and no internals."""
    given = Given(
        request_id="r-1",
        now=0,
        path="/api/v1/challenge/x/solution",
        query=b"",
        is_encrypted=False,
        address="",
        ids={},
        headers={"accept": "text/html", "accept-language": "de"},
        problem_page=problem_page,
    )
    sent = given.refuse(Problem(code, "a detail"))
    assert sent.status == KINDS[code].status
    assert sent.headers["content-type"].startswith("text/html")
    text = sent.body.decode()
    assert 'lang="de"' in text
    assert "r-1" in text
    assert "a detail" not in text
    assert '"../files/page.css"' in text


def test_the_widget_is_as_it_was_published() -> None:
    """The files are those of the version that is written down, with a licence for each part."""
    assert widget.wrong() == []
    assert set(ORIGIN["files"]) <= set(FILE_TYPES)
    assert all("Copyright" in text for text in widget.notices().values())
    assert ORIGIN["version"] in (widget.WIDGET / "altcha.min.js").read_text()


def test_no_file_of_a_page_asks_another_host() -> None:
    """The files name no address but those of specifications and of the widget's own link."""
    named = set()
    for name in FILE_TYPES:
        folder = widget.WIDGET if name in ORIGIN["files"] else widget.WIDGET.parent / "files"
        text = (folder / name).read_text()
        named |= set(re.findall(r"https?://([\w.-]+)", text))
    assert named <= {"www.w3.org", "altcha.org", "svelte.dev", "github.com"}
