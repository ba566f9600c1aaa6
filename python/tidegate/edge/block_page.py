"""The page that a browser shows when a block has no body of its own, in the visitor's language."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

DEFAULT = "en"
MAX_HEADER = 1_024
"""Characters of ``Accept-Language`` that are read."""
_RANGE = re.compile(r"([a-z]{2,8})(?:-[a-z0-9-]*)?(?:;q=([01](?:\.[0-9]{0,3})?))?")
_REFERENCE = re.compile(r"[0-9A-Za-z-]{1,64}")


def block_page(accepted: str, reference: str | None) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """The headers and the content of the page.

    It has no script and loads nothing, so it works under any address of a site.

    Args:
        accepted: the header ``Accept-Language``; empty without one.
        reference: the decision's id, for the visitor to quote; None if it isn't recorded.
    """
    made = _parts()
    language = preferred_language(accepted, made["texts"])
    texts: dict[str, str] = made["texts"][language]
    footer = ""
    if reference is not None and _REFERENCE.fullmatch(reference):
        footer = _filled(made["footer"], {"label": texts["label"], "reference": reference})
    content = _filled(made["page"], {"code": language, "footer": footer, **texts})
    headers = (
        ("content-type", "text/html; charset=utf-8"),
        ("content-language", language),
        ("content-security-policy", made["policy"]),
        ("vary", "accept, accept-language, sec-fetch-mode"),
    )
    return headers, content.encode()


def preferred_language(accepted: str, known: Collection[str]) -> str:
    """The language among ``known`` that a browser prefers; English if it asks for none of them.

    Args:
        accepted: the header ``Accept-Language`` (RFC 9110, 12.5.4); empty without one.
        known: codes as in BCP 47.
    """
    best, weight = DEFAULT, 0.0
    for part in accepted[:MAX_HEADER].lower().replace(" ", "").split(","):
        match = _RANGE.fullmatch(part)
        if match is None or match[1] not in known:
            continue
        liked = float(match[2] or 1)
        if liked > weight:
            best, weight = match[1], liked
    return best


def _filled(template: str, values: dict[str, str]) -> str:
    # Not `format`: the style has braces of its own.
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


@cache
def _parts() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(
        files("tidegate.edge").joinpath("block_page.json").read_bytes()
    )
    return found
