"""Callers that cannot answer a challenge differ from browsers by their requests."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.policy.callers import KINDS, Request, kind_of

BROWSER = {
    "accept": "text/html,application/xhtml+xml,application/json;q=0.1",
    "sec-fetch-mode": "navigate",
    "user-agent": "Mozilla/5.0",
}
CALLERS: list[tuple[str, dict[str, Any]]] = [
    ("ACME validations", {"path": "/.well-known/acme-challenge/x"}),
    (
        "preflights",
        {"method": "OPTIONS", "headers": {"Access-Control-Request-Method": "POST"}},
    ),
    ("webhooks", {"method": "POST", "path": "/api/webhooks/stripe"}),
    ("webhooks", {"method": "POST", "path": "/x", "user_agent": "GitHub-Hookshot/044aadd"}),
    ("health checks", {"path": "/healthz"}),
    ("health checks", {"path": "/", "user_agent": "kube-probe/1.30"}),
    ("feed readers", {"path": "/blog/feed.xml"}),
    ("feed readers", {"path": "/index.rss"}),
    ("calls for JSON", {"path": "/api/cart", "headers": {"accept": "application/json"}}),
    ("calls for JSON", {"method": "POST", "headers": {"Content-Type": "application/json"}}),
    ("calls of scripts", {"path": "/part", "headers": {"Sec-Fetch-Mode": "cors"}}),
    ("other methods than GET", {"method": "post", "path": "/login"}),
]


@pytest.mark.parametrize(("kind", "members"), CALLERS)
def test_a_program_is_told_by_what_it_sends(kind: str, members: dict[str, Any]) -> None:
    """The most telling sign names the kind, however its letters are written."""
    assert kind_of(Request.of(members)) == kind


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"headers": BROWSER, "path": "/"},
        {"method": "HEAD", "path": "/"},
        {"path": "/articles/webhooks-explained", "headers": BROWSER},
        {"path": "/feedback"},
        {"path": "/healthy-food"},
        {"path": "/status-symbols"},
        {"path": None, "headers": None, "client_ip": None},
    ],
)
def test_a_browser_is_left_alone(members: dict[str, Any]) -> None:
    """Nothing is said of what may be a navigation."""
    assert kind_of(Request.of(members)) is None


def test_a_list_names_networks_of_programs() -> None:
    """An address counts in a network of its own family; what isn't an address is in none."""
    machines = ["198.51.100.0/24", "2001:db8::/32"]
    for address, found in (
        ("198.51.100.7", KINDS[0]),
        ("2001:db8::7", KINDS[0]),
        ("192.0.2.7", None),
        ("nonsense", None),
        ("", None),
    ):
        assert kind_of(Request.of({"client_ip": address}), machines) == found
