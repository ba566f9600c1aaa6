"""The language's regular expressions: from pattern text to tree, and facts about it.

``parse`` accepts the common subset of RE2 and Rust's ``regex``, and decides in Python alone whether
a pattern is accepted.  ``translate`` returns the text that the native evaluator compiles; the
reference evaluator runs the tree on ``tidegate.functions.automaton``.
"""

from __future__ import annotations

from tidegate.regex.errors import RegexError
from tidegate.regex.find_work import find_work
from tidegate.regex.parser import parse
from tidegate.regex.shape import Shape, shape
from tidegate.regex.translation import translate
from tidegate.regex.tree import (
    Alternation,
    Assertion,
    Characters,
    Concatenation,
    Empty,
    Group,
    Position,
    Ranges,
    Regex,
    RegexNode,
    Repetition,
)

__all__ = [
    "Alternation",
    "Assertion",
    "Characters",
    "Concatenation",
    "Empty",
    "Group",
    "Position",
    "Ranges",
    "Regex",
    "RegexError",
    "RegexNode",
    "Repetition",
    "Shape",
    "find_work",
    "parse",
    "shape",
    "translate",
]
