"""Families of browser, system and device, by ua-parser's data."""

from __future__ import annotations

from functools import cache, lru_cache

import attrs
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


@lru_cache(maxsize=1024)
def families(user_agent: str) -> Families:
    """The families of a user agent."""
    text = user_agent.encode()[:MAX_BYTES].decode(errors="ignore")
    found = _resolver()(text, Domain.ALL)
    return Families(
        browser=found.user_agent.family if found.user_agent else UNKNOWN_FAMILY,
        system=found.os.family if found.os else UNKNOWN_FAMILY,
        device=found.device.family if found.device else UNKNOWN_FAMILY,
    )
