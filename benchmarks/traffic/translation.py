"""Translation of a rule's tree to the syntax of another engine.

The tree is the reference where languages differ; its nodes are described in the README of
the shared traffic data. Translated is what every engine measured here has: comparison,
substring, prefix, suffix, membership, presence of a key, and the connectives. Absent keys
of ``headers``, ``query_params``, ``cookies``, ``route_params`` and ``fields`` read as ``""``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

COMMON = frozenset({"eq", "ne", "contains", "starts", "ends", "in", "has", "and", "or", "not"})
"""The nodes that every engine measured here can express."""

MAPS = frozenset({"headers", "query_params", "cookies", "route_params", "fields"})

REQUEST_MEMBERS = {"raw_path": "path"}
"""Fields with another name in the event; all others are called the same."""


class UntranslatableError(Exception):
    """The engine has no way to say this."""


def operators(tree: list[Any]) -> frozenset[str]:
    """The kinds of node in a tree."""
    if tree[0] in ("and", "or", "not"):
        return frozenset({tree[0]}).union(*(operators(operand) for operand in tree[1:]))
    return frozenset({tree[0]})


def is_common(tree: list[Any]) -> bool:
    """Whether a tree stays inside :data:`COMMON`."""
    return operators(tree) <= COMMON


class Translator(ABC):
    """Writes a tree in one language; a subclass gives the spelling.

    ``templates`` has ``and`` and ``or`` as words, and ``not`` (of ``operand``), ``eq``,
    ``contains``, ``starts``, ``ends`` (of ``subject`` and ``text``), ``in`` (of ``subject`` and
    ``texts``), ``has`` (of ``map`` and ``key``) as format strings.
    """

    templates: ClassVar[dict[str, str]]
    guards_keys = False
    """Whether reading an absent key must be prevented by testing for it first."""

    @abstractmethod
    def map(self, name: str) -> str:
        """The map of an event called ``name``."""

    @abstractmethod
    def member(self, name: str) -> str:
        """A string member of the event."""

    @abstractmethod
    def value(self, name: str, key: str) -> str:
        """The value of a key of a map; ``""`` when absent unless ``guards_keys``."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """A string constant."""

    def pattern(self, text: str) -> str:
        """The text of a substring, prefix or suffix test as it goes into its template."""
        return self.literal(text)

    def translate(self, tree: list[Any]) -> str:
        """The condition in the other language.

        Raises:
            UntranslatableError: it cannot be said there.
        """
        match tree:
            case ["and" | "or" as kind, *operands]:
                word = f" {self.templates[kind]} "
                return f"({word.join(self.translate(operand) for operand in operands)})"
            case ["not", operand]:
                return self.templates["not"].format(operand=self.translate(operand))
            case ["has", name, key]:
                return self._has(name, key)
            case ["ne", field, text]:
                return self.templates["not"].format(operand=self.translate(["eq", field, text]))
            case ["in", field, texts]:
                return self._guarded(field, texts, "in")
            case ["eq" | "contains" | "starts" | "ends" as kind, field, text]:
                return self._guarded(field, [text], kind)
        raise UntranslatableError(f"no form for `{tree[0]}`")

    def _has(self, name: str, key: str) -> str:
        return self.templates["has"].format(map=self.map(name), key=self.literal(key))

    def _guarded(self, field: str, texts: list[str], kind: str) -> str:
        name, dot, key = field.partition(".")
        if not dot:
            return self._test(self.member(REQUEST_MEMBERS.get(name, name)), texts, kind)
        test = self._test(self.value(name, key), texts, kind)
        if not self.guards_keys:
            return test
        if "" in texts:
            raise UntranslatableError('the guard of an absent key cannot hold of `""`')
        return f"({self._has(name, key)} {self.templates['and']} {test})"

    def _test(self, subject: str, texts: list[str], kind: str) -> str:
        if kind == "in":
            listed = ", ".join(self.literal(text) for text in texts)
            return "(" + self.templates["in"].format(subject=subject, texts=listed) + ")"
        spell = self.literal if kind == "eq" else self.pattern
        return "(" + self.templates[kind].format(subject=subject, text=spell(texts[0])) + ")"
