"""Slugs: the short names in expressions and references.

An action's slug is an identifier of the expression language, so that ``actions.login_attempt``
reads well; all other slugs are hyphenated.
"""

from __future__ import annotations

import re
import unicodedata

MAX_LENGTH = 64
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_HYPHENATED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"}
    | {"let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while"}
)
"""Reserved words of the expression language, which can't be action slugs."""


def slug_from_name(name: str, kind: str) -> str:
    """The slug for a name, or "" if the name has no letter or digit.

    Accents are dropped, so that ``Größe`` is ``grosse`` and ``Café`` is ``cafe``.
    """
    separator = "_" if kind == "action" else "-"
    folded = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    slug = separator.join(re.findall(r"[a-z0-9]+", folded))[:MAX_LENGTH].rstrip(separator)
    if kind == "action" and slug and (slug[0].isdigit() or slug in RESERVED):
        return f"_{slug}"[:MAX_LENGTH]
    return slug


def is_slug(text: str, kind: str) -> bool:
    """Whether the text is a valid slug of a kind."""
    if not 0 < len(text) <= MAX_LENGTH:
        return False
    if kind == "action":
        return _IDENTIFIER.fullmatch(text) is not None and text not in RESERVED
    return _HYPHENATED.fullmatch(text) is not None


def form_of_slug(kind: str) -> str:
    """The form of a kind's slugs, for messages."""
    if kind == "action":
        return f"lower-case letters, digits and underscores, at most {MAX_LENGTH}, no reserved word"
    return f"lower-case letters and digits joined by single hyphens, at most {MAX_LENGTH}"
