"""Families of browser, system and device, from ua-parser's data and our own table."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

import attrs
import orjson
from ua_parser import BasicResolver, Domain, load_lazy_builtins

from tidegate.evaluation.agents.ranges import RANGES
from tidegate.evaluation.agents.registry import KNOWN_AGENTS, KnownAgent
from tidegate.evaluation.agents.robot_names import Robot, robot_or_first, robots, without_contacts

MAX_BYTES = 1_024
"""A user agent is read up to here: the patterns backtrack, and no honest one is longer."""

UNKNOWN_FAMILY = "Other"
ROBOT_DEVICE = "Spider"


@attrs.frozen
class Families:
    """Browser, system and device of a user agent; ``Other`` for unknown ones."""

    browser: str
    system: str
    device: str


@cache
def _resolver() -> BasicResolver:
    """The plain Python matcher, even if a faster one is installed: answers must not differ."""
    return BasicResolver(load_lazy_builtins())


def patterns() -> bytes:
    """The data as JSON, for the native encoder.

    ua-parser's data uses the names of its ``regexes.yaml``; ``known_agents`` and ``ranges`` have
    the registry of agents.
    """
    # The lazy matchers contain their sources, but their types do not say so.
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
        "known_agents": [
            {
                "word": each.word,
                "family": each.family,
                "operator": each.operator,
                "purpose": each.purpose,
                "ranges": each.ranges,
            }
            for each in KNOWN_AGENTS
        ],
        "ranges": RANGES,
    }
    return orjson.dumps(data)


def _readable(user_agent: str) -> str:
    start = user_agent.encode()[:MAX_BYTES].decode(errors="ignore")
    return _NOT_ASCII.sub("\N{REPLACEMENT CHARACTER}", start)


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
"""Treated as U+FFFD: engines disagree on which of them are letters, digits or spaces."""


@lru_cache(maxsize=1024)
def claimed_agent(user_agent: str) -> KnownAgent | None:
    """The first agent of the registry whose word a user agent contains."""
    return _known_agent(_readable(user_agent))


def _known_agent(text: str) -> KnownAgent | None:
    folded = text.lower()
    return next((each for each in KNOWN_AGENTS if _has_word(folded, each.word)), None)


def _has_word(text: str, word: str) -> bool:
    """Whether a text contains a word without a letter, digit or ``_`` next to it.

    A robot that is ``like Googlebot`` doesn't say that it is Googlebot.
    """
    return re.search(rf"(?<!\w)(?<!like ){re.escape(word)}(?!\w)", text, re.ASCII) is not None


@lru_cache(maxsize=1024)
def families(user_agent: str) -> Families:
    """The families of a user agent."""
    text = _readable(user_agent)
    found = _resolver()(text, Domain.ALL)
    families = Families(
        browser=found.user_agent.family if found.user_agent else UNKNOWN_FAMILY,
        system=found.os.family if found.os else UNKNOWN_FAMILY,
        device=found.device.family if found.device else UNKNOWN_FAMILY,
    )
    robot = _robot(text, families)
    return families if robot is None else attrs.evolve(families, browser=robot, device=ROBOT_DEVICE)


def _robot(text: str, families: Families) -> str | None:
    """The name of a robot; None if ua-parser's data is right."""
    known = _known_agent(text)
    if known is not None:
        return known.family
    if families.device == ROBOT_DEVICE:
        return _name_outside_of_contacts(text, families.browser)
    confirmed = (_confirmed(each) for each in robots(text))
    return next((name for name in confirmed if name is not None), None)


def _name_outside_of_contacts(text: str, family: str) -> str | None:
    """The name of a robot that the data named after its page or mail address.

    An example is ``crawler`` for ``Name/1.0 (+https://maker.example/crawler)``.
    """
    rest = without_contacts(text)
    if family not in text or family in rest:
        return None
    found = _resolver()(rest, Domain.USER_AGENT).user_agent
    return found.family if found else robot_or_first(rest)


def _confirmed(robot: Robot) -> str | None:
    """The family of a name in a phone's or browser's user agent, if it is a robot's."""
    found = _resolver()(robot.product, Domain.USER_AGENT | Domain.DEVICE)
    is_spider = found.device is not None and found.device.family == ROBOT_DEVICE
    if not robot.has_contact and not is_spider:
        return None
    return found.user_agent.family if found.user_agent else robot.name
