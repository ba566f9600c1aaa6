"""Names of secrets: what a redactor knows from a member's name.

See docs/fields.md, "What is kept of an event".
"""

from __future__ import annotations

import re
import unicodedata
from enum import Flag
from typing import TYPE_CHECKING

from tidegate.evaluation.secrets import families
from tidegate.functions.text import lower, percent_decoded
from tidegate.values import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable

ROUNDS = 4
"""Most times that a text is decoded, or parsed as JSON inside JSON; beyond that it is a secret."""
PROOFS = "service_challenge*"
"""The names of challenge proofs, whose tokens are the service's secrets."""
LONGEST_WORD = 32
"""Longest word that is split into words written together."""
LONGEST_VALUE = 1_024
"""Longest value, in bytes, that is examined as one word."""
_UNCOUNTED = str.maketrans("", "", "-_.+ ")
"""Characters ignored in a pattern: ``X-Api-Key`` is ``api_key`` with an ``x``."""
_NAME_PARTS = re.compile(r"[.\[\]]")
_WORD = re.compile(
    "[^\x00-/:-@\\[-`{-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u2000-\u206f"
    "\u3000-\u3004\u3008-\u3020\u30fb]+"
)
"""A run of letters and digits; punctuation beyond ASCII separates words too."""
_CAMEL = re.compile(
    "(?<=[0-9])(?=[^0-9])|(?<=[^0-9])(?=[0-9])|(?<=[^A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)
"""Word boundaries in a camel-case name: ``apiKey2``, ``SAMLResponse``."""
_IGNORED = re.compile(
    "[\u00ad\u115f\u1160\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff]"
)
"""Invisible characters."""
_ONE_WORD = re.compile(r"""[^\x00-\x20<>"'(){}\[\]`;|\\\x7f]+""")
_GENERATED = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_\-+/=.~]{16,}")
_NUMERIC = re.compile(r"[0-9]{6,8}")


class Kind(Flag):
    """Which values of a name are secrets."""

    NONE = 0
    NUMERIC = 1
    """Six to eight digits."""
    GENERATED = 2
    """Long, of letters and digits."""
    QUERIED = 4
    """One word, in a query or a form."""
    ALL = 8


def folded(name: str) -> str:
    """A name with look-alike letters normalised: width, accents, invisible characters."""
    if name.isascii():
        return name
    plain = "".join(unicodedata.normalize("NFKD", each) for each in name)
    return _IGNORED.sub("", "".join(e for e in plain if unicodedata.category(e)[0] != "M"))


def small(text: str) -> str:
    """A folded text in lower case, letter by letter."""
    return lower(text) if text.isascii() else "".join(each.lower() for each in text)


def _texts(section: str) -> frozenset[str]:
    return frozenset(small(folded(each)) for each in families.entries(section))


_STEMS = _texts("stems")
_BENIGN = re.compile("|".join(sorted(_texts("benign"), key=len, reverse=True)))
_WORDS = _texts("words")
_ENDINGS = tuple(_texts("endings"))
_GUARDED = {head: frozenset(rest) for head, rest in families.named("guarded").items()}
_QUERIED = _texts("queried")
_LISTED = _texts("generated")
_DIGITS = _texts("numeric")
_LED = {head: frozenset(rest) for head, rest in families.named("led").items()}
_UNLED = {head: frozenset(rest) for head, rest in families.named("unled").items()}
_ABOUT = _texts("about")
_ASKING = _texts("asking")
_DICTIONARY = frozenset(
    each
    for each in frozenset().union(
        (each for each in _STEMS if each.isascii()),
        _WORDS,
        _GUARDED,
        *_GUARDED.values(),
        _QUERIED,
        _LISTED,
        _LED,
        *_LED.values(),
        *_UNLED.values(),
        _ABOUT,
        _ASKING,
        _texts("neutral"),
    )
    if len(each) > 1
)


class Names:
    """The names of secrets: families of common names, and the tenant's patterns.

    Args:
        patterns: more names of secrets; ``*`` matches any text. A pattern after ``!`` names values
            that are not secret, whatever else says they are.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        texts = list(patterns)
        secret = _parts(each for each in texts if not each.startswith("!"))
        self._everything = any(not any(parts) and len(parts) > 1 for parts in secret)
        self._secret = [parts for parts in secret if any(parts) or len(parts) == 1]
        self._clear = _parts(each[1:] for each in texts if each.startswith("!"))
        self._always = _parts([PROOFS])

    def kind(self, name: str) -> Kind:
        """Which values of a name are secrets; the name may be percent-encoded."""
        decoded = decoded_name(name)
        if self._everything and decoded is not None and not self.is_clear(decoded):
            return Kind.ALL
        return self.kind_of_word(name)

    def kind_of_word(self, name: str) -> Kind:
        """Like ``kind``, for a possible name or any other word in a text; the pattern ``*`` doesn't
        count."""
        decoded = decoded_name(name)
        if decoded is None:
            return Kind.ALL
        if self.is_clear(decoded):
            return Kind.NONE
        found = Kind.NONE
        for part in [decoded, *filter(None, _NAME_PARTS.split(decoded))]:
            found |= Kind.ALL if _matches(self._secret, part) else family(part)
        return Kind.ALL if Kind.ALL in found else found

    def is_secret(self, name: str) -> bool:
        """Whether every value of this name is a secret."""
        return self.kind(name) is Kind.ALL

    def may_be_secret(self, name: str) -> bool:
        """Whether some values of this name are secrets."""
        return self.kind(name) is not Kind.NONE

    def holds_secret(self, name: str, value: str, *, is_queried: bool) -> bool:
        """Whether a value of this name is a secret.

        Args:
            name: the value's name; it may be percent-encoded.
            value: a text, or the text of a number.
            is_queried: whether it is in a query or a form.
        """
        kind = self.kind(name)
        return kind is Kind.ALL or is_secret_of(kind, value, is_queried=is_queried)

    def is_clear(self, name: str) -> bool:
        """Whether the tenant asked for values of this name in clear text."""
        return _matches(self._clear, name) and not _matches(self._always, name)


def decoded_name(name: str) -> str | None:
    """A name without percent-encoding; None if it is encoded more often than is decoded."""
    for _ in range(ROUNDS):
        decoded = percent_decoded(name)
        if decoded == name:
            return name
        name = decoded
    return name if percent_decoded(name) == name else None


def is_secret_of(kind: Kind, value: str, *, is_queried: bool) -> bool:
    """Whether a value is a secret under a name of this kind; not for ``Kind.ALL``."""
    if kind is Kind.NONE:
        return False
    is_long = utf8_length(value) > LONGEST_VALUE
    return (
        (Kind.QUERIED in kind and is_queried and (is_long or _is_one_word(value)))
        or (Kind.GENERATED in kind and not is_long and _GENERATED.fullmatch(value) is not None)
        or (Kind.NUMERIC in kind and _NUMERIC.fullmatch(value) is not None)
    )


def _is_one_word(value: str) -> bool:
    """Whether a decoded value may be a credential: it has no space, quotes or brackets."""
    decoded = decoded_name(value)
    return decoded is None or _ONE_WORD.fullmatch(decoded) is not None


def family(name: str) -> Kind:
    """Which values of this name are secrets according to the families of names."""
    plain = folded(name)
    runs = _WORD.findall(plain)
    whole = small("".join(runs))
    apart = [_apart([small(each) for run in runs for each in _CAMEL.split(run)])]
    apart.append(_apart([small(run) for run in runs]))
    if len(runs) > 1 and all(len(run) == 1 for run in runs):
        apart.append(_apart([whole]))
    if any(_is_about(words) for words in apart):
        return Kind.NONE
    whole = _BENIGN.sub(" ", whole)
    if any(stem in whole for stem in _STEMS) or any(_is_secret(words) for words in apart):
        return Kind.ALL
    found = Kind.NONE
    for words in apart:
        found |= _weak(words)
    return found


def _is_about(words: list[str]) -> bool:
    """Whether a name describes a secret without being one: ``password_length``."""
    return len(words) > 1 and (words[-1] in _ABOUT or words[0] in _ASKING)


def _is_secret(words: list[str]) -> bool:
    if any(word in _WORDS or word.endswith(_ENDINGS) for word in words):
        return True
    for guarded in _GUARDED.keys() & set(words):
        if all(word == guarded or word in _GUARDED[guarded] for word in words):
            return True
    return len(words) > 1 and words[-2] in _LED.get(words[-1], ())


def _weak(words: list[str]) -> Kind:
    found = Kind.NONE
    if len(words) == 1:
        word = words[0]
        found |= Kind.QUERIED if word in _QUERIED else Kind.NONE
        found |= Kind.GENERATED if word in _LISTED else Kind.NONE
        found |= Kind.NUMERIC if word in _DIGITS else Kind.NONE
    elif words and words[-1] in _UNLED and words[-2] not in _UNLED[words[-1]]:
        found = Kind.GENERATED
    return found


def _apart(words: list[str]) -> list[str]:
    """Words, with those written together split up; without numbers."""
    return [each for word in words for each in _segments(word) if not _is_number(each)]


def _segments(word: str) -> list[str]:
    """A word split into family words and numbers, longest first; itself if impossible."""
    if not word.isascii() or len(word) > LONGEST_WORD:
        return [word]
    dead: set[int] = set()

    def after(start: int) -> list[str] | None:
        if start == len(word):
            return []
        if start in dead:
            return None
        for end in range(len(word), start, -1):
            piece = word[start:end]
            if piece in _DICTIONARY or _is_number(piece):
                rest = after(end)
                if rest is not None:
                    return [piece, *rest]
        dead.add(start)
        return None

    return after(0) or [word]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _parts(patterns: Iterable[str]) -> list[list[str]]:
    """For each pattern, the texts between its stars."""
    return [_plain(each).split("*") for each in patterns]


def _matches(patterns: list[list[str]], name: str) -> bool:
    plain = _plain(name)
    return any(_fits(parts, plain) for parts in patterns)


def _fits(parts: list[str], name: str) -> bool:
    """Whether a name consists of these parts with any text between them."""
    if len(parts) == 1:
        return name == parts[0]
    first, *middle, last = parts
    end = len(name) - len(last)
    if end < len(first) or not (name.startswith(first) and name.endswith(last)):
        return False
    at = len(first)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _plain(name: str) -> str:
    """A name normalised for comparison with patterns."""
    return lower(name).translate(_UNCOUNTED)
