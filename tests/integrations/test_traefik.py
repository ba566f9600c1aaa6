"""The settings of Traefik, as far as they can be looked at without it."""

from __future__ import annotations

import re
from typing import Any

import yaml
from tests.integrations.edges import EXAMPLES

SITE: dict[str, Any] = yaml.safe_load((EXAMPLES / "traefik" / "site.yaml").read_text())["http"]


def test_the_settings_hold_together() -> None:
    """Every name leads somewhere."""
    start = yaml.safe_load((EXAMPLES / "traefik" / "traefik.yaml").read_text())
    router = SITE["routers"]["site"]
    assert set(router["entryPoints"]) == start["entryPoints"].keys()
    assert router["service"] in SITE["services"]
    assert set(router["middlewares"]) == SITE["middlewares"].keys()
    assert start["providers"]["file"]["filename"].endswith("traefik/site.yaml")


def test_the_key_is_set_before_and_taken_away_after_the_question() -> None:
    """An empty value removes a header; the order is the list's."""
    before, ask, after = (
        SITE["middlewares"][each] for each in SITE["routers"]["site"]["middlewares"]
    )
    assert re.fullmatch(
        r'\{\{ env "TIDEGATE_KEY" \}\}',
        before["headers"]["customRequestHeaders"]["X-Service-Api-Key"],
    )
    assert ask["forwardAuth"]["address"].endswith("/authz")
    assert after["headers"]["customRequestHeaders"] == {"X-Service-Api-Key": ""}


def test_headers_of_another_dialect_are_taken_away() -> None:
    """Traefik itself writes the `X-Forwarded-` ones, and believes none that a visitor sends."""
    before = SITE["middlewares"]["tidegate-key"]["headers"]["customRequestHeaders"]
    assert before["X-Original-Url"] == before["X-Original-Method"] == ""
    assert before["X-Original-Protocol"] == ""
    assert SITE["middlewares"]["tidegate"]["forwardAuth"]["trustForwardHeader"] is False
