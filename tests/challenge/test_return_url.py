"""Where visitors may be sent: as browsers read an address, to an origin of the tenant."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.browser import browser
from tests.shared_data import shared_lines

from tidegate_server.challenge.return_url import (
    MAX_URL,
    OF_VISITOR,
    destination,
    origin_of,
    with_proof,
)

__all__ = ["browser"]

ORIGINS = ("https://shop.example.test", "https://pay.example.test:8443")
VERDICTS = shared_lines("data/adversarial/url/return_url_verdicts.jsonl")
PAYLOADS = [
    str(line.get("s") or line.get("input") or line.get("new_value"))
    for name in (
        "payloads/crlf",
        "payloads/open_redirect",
        "payloads/path_traversal",
        "payloads/sql_nosql_cmd_template",
        "payloads/xxe",
        "url/ada_extra",
        "url/wpt_idna_v2",
        "url/wpt_setters",
        "url/wpt_toascii",
        "url/wpt_urltestdata",
    )
    for line in shared_lines(f"data/adversarial/{name}.jsonl")
]
WRITTEN = [line["input"] for line in shared_lines("data/adversarial/url/wpt_urltestdata.jsonl")]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """An empty page."""
    made = browser.new_page()
    yield made
    made.close()


@pytest.mark.parametrize("case", VERDICTS, ids=[case["id"] for case in VERDICTS])
def test_a_return_url_is_kept_or_not(case: dict[str, str]) -> None:
    """Addresses with a verdict, for a tenant with two origins."""
    found = destination(case["return_url"], None, ORIGINS)
    assert (found is not None) is case["verdict"].startswith("keep")


def test_no_payload_leads_to_another_origin() -> None:
    """Known tricks, alone and behind an origin of the tenant, go nowhere or to such an origin, and
    into a header of one line."""
    for text in PAYLOADS:
        for url in (text, ORIGINS[0] + text, f"{ORIGINS[0]}/?next={text}"):
            found = destination(url, None, ORIGINS)
            if found is not None:
                assert origin_of(found) in ORIGINS, url
                assert re.fullmatch("[!-~]+", with_proof(found, "t")), url


def test_a_browser_goes_where_the_rule_says(page: Page) -> None:
    """Chromium reads every address that is kept as it was written down."""
    read = page.evaluate(
        """urls => urls.map(url => {
             try { const read = new URL(url); return [read.href, read.origin]; }
             catch { return null; }
           })""",
        WRITTEN,
    )
    kept = 0
    for url, found in zip(WRITTEN, read, strict=True):
        # Chromium alone encodes this character of a host; an empty fragment is left out.
        wanted = None if found is None else found[0].replace("%2A", "*").removesuffix("#")
        origins = [found[1]] if found and found[1].startswith("http") else ORIGINS
        chosen = destination(url, None, origins)
        assert chosen in (None, wanted), url
        kept += chosen is not None
    assert kept


@pytest.mark.parametrize(
    ("template", "url", "goes"),
    [
        (None, "https://shop.example.test/a", False),
        ("https://shop.example.test/back", "https://shop.example.test/a", True),
        ("https://shop.example.test/back", "http://shop.example.test/a", False),
        ("https://shop.example.test/back", "https://shop.example.test:8443/a", False),
        ("https://shop.example.test/back", "https://evil.example/a", False),
        ("javascript:alert(1)", "https://evil.example/a", False),
    ],
)
def test_without_origins_only_the_template_names_one(
    template: str | None, url: str, goes: bool
) -> None:
    """The `Host` that a visitor sends to a proxy chooses nowhere where a challenge leads."""
    found = destination(url + OF_VISITOR, template, ())
    assert (found == url) is goes
    assert found in (url if goes else None, template, None)


def test_without_origins_the_customer_says_where_a_visitor_goes_back_to() -> None:
    """The holder of an API key names any page; origins, once there are any, limit it."""
    url = "https://shop.example.test:8443/a?b=1"
    assert destination(url, None, ()) == url
    assert destination(url, None, ORIGINS) is None
    assert destination("javascript:alert(1)", None, ()) is None


def test_the_template_is_for_requests_without_a_return_url() -> None:
    """A return URL that may not be used is not replaced: the record and the log say so."""
    template = "https://shop.example.test/back"
    for given in ("https://evil.example/", "javascript:alert(1)", "https://a:b@shop.example.test/"):
        assert destination(given, template, ORIGINS) is None
    assert destination("https://evil.example/", template, ()) == "https://evil.example/"
    for absent in (None, ""):
        assert destination(absent, template, ORIGINS) == template
        assert destination(absent, template, ()) == template


def test_the_template_stands_in_for_the_word_of_a_visitor() -> None:
    """Behind a proxy nobody but the visitor named the host; the template must be of a listed
    origin."""
    evil, template = "https://evil.example/", "https://shop.example.test/back"
    assert destination(evil + OF_VISITOR, template, ORIGINS) == template
    assert destination(None, evil, ORIGINS) is None
    assert destination(None, None, ORIGINS) is None


def test_an_address_has_a_bound() -> None:
    """An address is bounded also when encoding makes it longer."""
    short = "https://shop.example.test/"
    assert destination(short + "a" * (MAX_URL - len(short)), None, ORIGINS)
    assert not destination(short + "a" * MAX_URL, None, ORIGINS)
    assert not destination(short + "é" * (MAX_URL // 2), None, ORIGINS)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.test/", "https://a.test/?service_challenge_proof=t"),
        ("https://a.test/?", "https://a.test/?service_challenge_proof=t"),
        ("https://a.test/x?b=1&c#d", "https://a.test/x?b=1&c&service_challenge_proof=t#d"),
        (
            "https://a.test/?b=%20+%2F&b=2",
            "https://a.test/?b=%20+%2F&b=2&service_challenge_proof=t",
        ),
        (
            "https://a.test/?service_challenge_proof=old&b=1",
            "https://a.test/?b=1&service_challenge_proof=t",
        ),
        ("https://a.test/#?x", "https://a.test/?service_challenge_proof=t#?x"),
    ],
)
def test_a_proof_joins_the_query(url: str, expected: str) -> None:
    """The other parameters stay as they were written, and so does what follows them."""
    assert with_proof(url, "t") == expected
