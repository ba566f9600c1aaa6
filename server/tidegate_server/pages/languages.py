"""The texts of pages, one file per language, and the choice of a visitor's language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import attrs
import orjson

from tidegate.edge.block_page import preferred_language


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
    return known[preferred_language(accepted, known)]
