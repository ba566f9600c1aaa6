"""Families of browser, system and device, by ua-parser's data."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

import attrs
import orjson
from ua_parser import BasicResolver, Domain, load_lazy_builtins

MAX_BYTES = 1_024
"""A user agent is read this far: the patterns backtrack, and no honest one is longer."""

UNKNOWN_FAMILY = "Other"
ROBOT_DEVICE = "Spider"


@attrs.frozen
class Families:
    """What a user agent says of its sender; ``Other`` for what nothing fits."""

    browser: str
    system: str
    device: str


@cache
def _resolver() -> BasicResolver:
    """The plain Python matching, whatever faster one is installed: answers must not differ."""
    return BasicResolver(load_lazy_builtins())


def patterns() -> bytes:
    """The data as JSON with the names of ua-parser's ``regexes.yaml``, for the native encoder."""
    # The lazy matchers carry what they are made of; their types do not say so.
    matchers: tuple[list[Any], list[Any], list[Any]] = load_lazy_builtins()
    browsers, systems, devices = matchers
    data = {
        "user_agent_parsers": [
            {"regex": each.regex, "family_replacement": each.family} for each in browsers
        ],
        "os_parsers": [{"regex": each.regex, "os_replacement": each.family} for each in systems],
        "device_parsers": [
            {
                "regex": each.regex,
                "regex_flag": each.regex_flag or None,
                "device_replacement": each.family,
            }
            for each in devices
        ],
    }
    return orjson.dumps(data)


def _start(user_agent: str) -> str:
    return user_agent.encode()[:MAX_BYTES].decode(errors="ignore")


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
"""Counted as U+FFFD: engines differ in which of them are letters, digits or spaces."""


@lru_cache(maxsize=1024)
def families(user_agent: str) -> Families:
    """The families of a user agent."""
    text = _NOT_ASCII.sub("\N{REPLACEMENT CHARACTER}", _start(user_agent))
    found = _resolver()(text, Domain.ALL)
    return Families(
        browser=found.user_agent.family if found.user_agent else UNKNOWN_FAMILY,
        system=found.os.family if found.os else UNKNOWN_FAMILY,
        device=found.device.family if found.device else UNKNOWN_FAMILY,
    )
