"""The texts of pages, one file per language, and the choice of a visitor's language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import attrs
import orjson

DEFAULT = "en"
MAX_HEADER = 1_024
"""Characters of ``Accept-Language`` that are read."""
_RANGE = re.compile(r"([a-z]{2,8})(?:-[a-z0-9-]*)?(?:;q=([01](?:\.[0-9]{0,3})?))?")


@attrs.frozen
class Language:
    """A language of the pages.

    Attributes:
        code: as in BCP 47.
        direction: ``ltr`` or ``rtl``.
        texts: by their names.
    """

    code: str
    direction: str
    texts: Mapping[str, str] = attrs.field(repr=False)


@cache
def languages() -> Mapping[str, Language]:
    """Return every language with a file, by its code."""
    found = {}
    for file in files("tidegate_server.pages").joinpath("texts").iterdir():
        if file.name.endswith(".json"):
            texts = orjson.loads(file.read_bytes())
            code = file.name.removesuffix(".json")
            found[code] = Language(code, texts.pop("direction"), texts)
    return found


def language_for(accepted: str) -> Language:
    """Return the available language that a browser prefers.

    Args:
        accepted: the header ``Accept-Language`` (RFC 9110, 12.5.4); empty without one.
    """
    known = languages()
    best, weight = known[DEFAULT], 0.0
    for part in accepted[:MAX_HEADER].lower().replace(" ", "").split(","):
        match = _RANGE.fullmatch(part)
        if match is None or match[1] not in known:
            continue
        liked = float(match[2] or 1)
        if liked > weight:
            best, weight = known[match[1]], liked
    return best
