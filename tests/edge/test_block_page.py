"""The page that a browser shows when a block has no body of its own."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from tidegate.edge.block_page import block_page, preferred_language
from tidegate_server.pages.languages import languages


def test_it_is_in_every_language_of_the_challenge_page() -> None:
    """Each has the same direction there, and all its texts here."""
    for code, language in languages().items():
        headers, content = block_page(code, "01a2")
        assert dict(headers)["content-language"] == code
        assert f'lang="{code}" dir="{language.direction}"' in content.decode()
        assert f"{language.texts['reference']}: <code>01a2</code>" in content.decode()


def test_its_policy_allows_its_own_style_alone() -> None:
    """The hash is that of the style, and nothing else is loaded or run."""
    headers, content = block_page("", None)
    style = re.findall(r"<style>(.*?)</style>", content.decode(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in dict(headers)["content-security-policy"]
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            assert not [value for name, value in attrs if name.startswith("on")]

    Tags().feed(content.decode())
    assert not {"script", "img", "iframe", "form"} & set(tags)
    assert "{" not in content.decode().replace(style[0], "")


@pytest.mark.parametrize("reference", [None, "", "<b>", "a" * 65, "a b"])
def test_an_odd_reference_is_left_out(reference: str | None) -> None:
    """Text from elsewhere never gets into the page."""
    assert block_page("", reference) == block_page("", None)
    assert b"<footer>" not in block_page("", reference)[1]


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de-AT,en;q=0.5", "de"),
        ("xx, fr;q=0.2, ja;q=0.9", "ja"),
        ("fr;q=0", "en"),
        ("de;q=2", "en"),
        (",;," * 1_000, "en"),
    ],
)
def test_the_language_is_the_one_that_the_browser_prefers(accepted: str, language: str) -> None:
    """English if it asks for none of them, or in no form of the standard."""
    assert preferred_language(accepted, {"de", "en", "fr", "ja"}) == language
