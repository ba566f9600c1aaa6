"""Names of robots in a user agent that ua-parser's data takes for a phone or browser.

The native evaluator has the same in ``event/user_agent/names.rs``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

_CONTACTS = ("://", "@", "www.")
"""Prefixes and characters of page and mail addresses."""
_ENDINGS = ("bot", "spider", "crawler", "crawl")
_PEOPLE = ("msie", "konqueror", "cubot", "googletoolbar")
"""Names after ``compatible`` that are browsers, and a phone maker with a name that ends like a
robot's."""
_BETWEEN = re.compile("[ ;,()]")
_WORD = re.compile("[^ ;,()]*[ ;,()]?")


@attrs.frozen
class Robot:
    """A possible robot's name.

    Attributes:
        name: the name itself.
        has_contact: whether the maker's address follows.
    """

    name: str
    has_contact: bool

    @property
    def product(self) -> str:
        """The name with a version, as the data's patterns require."""
        return f"{self.name}/1.0"


def robots(user_agent: str) -> Iterator[Robot]:
    """The possible robots' names, in order: those after ``compatible`` first."""
    for comment in re.split("[()]", user_agent):
        found = _compatible_name(comment)
        if found is not None:
            yield found
    # The first comment describes the device: Cubot makes phones.
    before, end, rest = user_agent.partition(")")
    for word in _BETWEEN.split(rest if end else before):
        name = _name_of(word)
        if name is not None and _lower(name).endswith(_ENDINGS):
            yield Robot(name, has_contact=False)


def robot_or_first(text: str) -> str | None:
    """A name from a text without addresses: a possible robot's, else the first that isn't
    ``Mozilla``."""
    found = next(robots(text), None)
    if found is not None:
        return found.name
    names = (_name_of(word) for word in _BETWEEN.split(text))
    return next((name for name in names if name and _lower(name) != "mozilla"), None)


def without_contacts(user_agent: str) -> str:
    """The text without words that are addresses."""
    kept = []
    for word in _WORD.findall(user_agent):
        if not _is_contact(word):
            kept.append(word)
        elif word[-1] in " ;,()":
            kept.append(word[-1])
    return "".join(kept)


def _compatible_name(comment: str) -> Robot | None:
    parts = iter(part.strip(" ") for part in re.split("[;,]", comment))
    if not any(_lower(part) == "compatible" for part in parts):
        return None
    name = _name_of(next(parts, ""))
    return None if name is None else Robot(name, has_contact=any(map(_is_contact, parts)))


def _name_of(product: str) -> str | None:
    """The name in ``Name/1.0``; None if it is a person's program, or an address."""
    name = product.partition("/")[0].strip(" ")
    begins = re.match("[A-Za-z0-9]", name) is not None
    is_name = begins and not _is_contact(product) and not _lower(name).startswith(_PEOPLE)
    return name if is_name else None


def _is_contact(part: str) -> bool:
    return any(mark in part for mark in _CONTACTS)


def _lower(text: str) -> str:
    """ASCII letters in lower case; the text has no others."""
    return text.lower()
