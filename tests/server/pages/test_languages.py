"""The texts of pages, and which a browser gets."""

from __future__ import annotations

import string

import pytest

from tidegate.edge.block_page import DEFAULT, MAX_HEADER
from tidegate_server.pages.languages import language_for, languages

KNOWN = languages()


def fields(text: str) -> set[str | None]:
    """The places that a text wants filled in."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_there_are_many_languages() -> None:
    """There are at least ten languages, one of them written from right to left."""
    assert len(KNOWN) >= 10
    assert {each.direction for each in KNOWN.values()} == {"ltr", "rtl"}


@pytest.mark.parametrize("code", sorted(KNOWN))
def test_every_language_has_every_text(code: str) -> None:
    """Each text is there, is not empty, and wants the same filled in."""
    texts, wanted = KNOWN[code].texts, KNOWN[DEFAULT].texts
    assert texts.keys() == wanted.keys()
    for name, text in texts.items():
        assert text.strip()
        assert fields(text) == fields(wanted[name]), name


@pytest.mark.parametrize(
    ("accepted", "code"),
    [
        ("", "en"),
        ("de", "de"),
        ("DE-at", "de"),
        ("zh-Hant-TW", "zh"),
        ("fr;q=0.5, de;q=0.8", "de"),
        ("fr, de", "fr"),
        ("xx, *;q=0.1, it;q=0.2", "it"),
        ("de;q=0, en;q=0.1", "en"),
        ("de;q=0", "en"),
        ("de;q=x", "en"),
        ("<script>", "en"),
        ("../../../etc/passwd", "en"),
        ("x," * MAX_HEADER + "de", "en"),
    ],
)
def test_a_browser_gets_the_language_it_likes_best(accepted: str, code: str) -> None:
    """A browser gets the best of the existing languages, or English if it likes none of them."""
    assert language_for(accepted).code == code
