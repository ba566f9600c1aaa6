"""Parses pattern text into a regex tree: the common subset of RE2 and Rust's ``regex``.

A construct is accepted if both engines accept it with the same meaning, and otherwise rejected by
name.  Perl classes and word boundaries are ASCII; letter case folds by Unicode's simple folding;
``$`` without ``m`` is only the end of the text.  Perl classes do not fold: ``(?i)\\w`` is ASCII
like ``\\w``.
"""

from __future__ import annotations

from typing import NoReturn

import attrs

from tidegate.limits import DEFAULT, Limits
from tidegate.regex import sets
from tidegate.regex.errors import RegexError
from tidegate.regex.size import program_size
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
from tidegate.regex.work import step_work

_CONTROLS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_ANCHORS = {
    "A": Position.TEXT_START,
    "z": Position.TEXT_END,
    "b": Position.WORD_BOUNDARY,
    "B": Position.NOT_WORD_BOUNDARY,
}
_REFUSED_ESCAPES = {
    "C": (r"`\C` is not supported: it matches half a character", "use `(?s:.)`"),
    "Q": (r"`\Q` quoting is not supported", "escape each special character with a backslash"),
    "E": (r"`\E` quoting is not supported", "escape each special character with a backslash"),
    "Z": (r"`\Z` is not supported", r"use `\z` or `$` for the end of the text"),
    "G": (r"`\G` is not supported", None),
    "K": (r"`\K` is not supported", None),
    "R": (r"`\R` is not supported", r"use `(?:\r\n|\n|\r)`"),
    "X": (r"`\X` is not supported", None),
    "k": ("back-references are not supported", None),
    "g": ("back-references are not supported", None),
    "h": (r"`\h` is not supported", r"use `[ \t]`"),
    "u": (r"`\u` is not supported", r"use `\x{...}`"),
    "U": (r"`\U` is not supported", r"use `\x{...}`"),
    "<": (r"`\<` is not supported: engines differ on its meaning", r"use `<` or `\b`"),
    ">": (r"`\>` is not supported: engines differ on its meaning", r"use `>` or `\b`"),
}
_LOOK_AROUND = "look-around is not supported"
_REFUSED_GROUPS = {
    "=": (_LOOK_AROUND, None),
    "!": (_LOOK_AROUND, None),
    "<=": (_LOOK_AROUND, None),
    "<!": (_LOOK_AROUND, None),
    "P=": ("back-references are not supported", None),
    "P>": ("recursion is not supported", None),
    "#": ("comments are not supported", None),
    ">": ("atomic groups are not supported", "use `(?:...)`"),
    "|": ("branch resets are not supported", "use `(?:...)`"),
    "(": ("conditionals are not supported", None),
    "'": ("this form of named group is not supported", "use `(?<name>...)`"),
    "&": ("recursion is not supported", None),
}
_SET_OPERATORS = ("&&", "--", "~~")
_FLAGS = "imsU"
_DIGITS = "0123456789"
_HEXADECIMAL = "0123456789abcdefABCDEF"


@attrs.frozen
class _Flags:
    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


def parse(pattern: str, limits: Limits = DEFAULT) -> Regex:
    """The tree of ``pattern``.

    Raises:
        RegexError: the pattern is malformed, outside the subset or beyond a limit.
    """
    try:
        length = len(pattern.encode())
    except UnicodeEncodeError as error:
        message = "pattern is not valid Unicode text"
        raise RegexError(message, error.start, error.end) from None
    if length > limits.regex_pattern_bytes:
        raise RegexError(
            f"pattern of {length} bytes is longer than {limits.regex_pattern_bytes}",
            0,
            len(pattern),
        )
    return _Parser(pattern, limits).parse()


class _Parser:
    """Recursive descent; each group is one level of recursion, bounded by the nesting limit."""

    def __init__(self, pattern: str, limits: Limits) -> None:
        self._text = pattern
        self._limits = limits
        self._at = 0
        self._depth = 0
        self._flags = _Flags()
        self._names: list[str | None] = []

    def parse(self) -> Regex:
        root = self._alternation()
        if self._at < len(self._text):
            self._refuse(
                "`)` without an opening `(`", self._at, hint=r"write `\)` for the character"
            )
        size = program_size(root)
        if size > self._limits.regex_program_bytes:
            self._refuse(
                f"pattern compiles to about {size} bytes, "
                f"more than {self._limits.regex_program_bytes}",
                0,
                len(self._text),
                "lower the repeat counts or use smaller character classes",
            )
        _check_repeats(root, self._limits.regex_repeat, len(self._text))
        work = step_work(root)
        if work > self._limits.regex_work:
            self._refuse(
                f"pattern is too much work for each character: {work} units, "
                f"more than {self._limits.regex_work}",
                0,
                len(self._text),
                "lower the repeat counts, use fewer optional parts or split the pattern",
            )
        return Regex(self._text, root, tuple(self._names), size, work)

    # Reading

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _accept(self, token: str) -> bool:
        if self._text.startswith(token, self._at):
            self._at += len(token)
            return True
        return False

    def _take_while(self, alphabet: str) -> str:
        start = self._at
        while self._at < len(self._text) and self._text[self._at] in alphabet:
            self._at += 1
        return self._text[start : self._at]

    def _refuse(
        self, message: str, start: int, end: int | None = None, hint: str | None = None
    ) -> NoReturn:
        end = start + 1 if end is None else end
        length = len(self._text)
        raise RegexError(message, min(start, length), min(end, length), hint)

    # Alternation, concatenation, repetition

    def _alternation(self) -> RegexNode:
        branches = [self._concatenation()]
        while self._accept("|"):
            branches.append(self._concatenation())
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _concatenation(self) -> RegexNode:
        items: list[RegexNode] = []
        while self._at < len(self._text) and self._peek() not in "|)":
            start, groups = self._at, len(self._names)
            item = self._atom()
            if item is None:
                self._refuse_repeat("there is nothing to repeat after flags")
            else:
                items.append(self._repeated(item, start, groups))
        match items:
            case []:
                return Empty()
            case [item]:
                return item
            case _:
                return Concatenation(tuple(items))

    def _repeated(self, item: RegexNode, start: int, groups: int) -> RegexNode:
        """``item`` with the repetition that follows it, if any; ``groups`` were open before."""
        counts = self._counts()
        if counts is None:
            return item
        minimum, maximum = counts
        if maximum == 0 and len(self._names) > groups:
            # RE2 still counts such a group, but Rust does not.
            self._refuse("a capturing group may not be repeated zero times", start, self._at)
        greedy = not self._accept("?")
        self._refuse_repeat("a repetition may not be repeated", start)
        return Repetition(item, minimum, maximum, greedy != self._flags.U)

    def _refuse_repeat(self, message: str, start: int | None = None) -> None:
        """Reject a misplaced repetition operator."""
        if self._at < len(self._text) and self._peek() in "*+?{":
            self._refuse(
                message,
                self._at if start is None else start,
                self._at + 1,
                None if start is None else "group the inner repetition: `(?:...)`",
            )

    def _counts(self) -> tuple[int, int | None] | None:
        for operator, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._accept(operator):
                return counts
        if self._peek() != "{":
            return None
        start = self._at
        self._at += 1
        low = self._count(start)
        high: int | None = low
        if self._accept(","):
            high = None if self._peek() == "}" else self._count(start)
        if not self._accept("}"):
            self._refuse_brace(start)
        if high is not None and high < low:
            self._refuse(f"repeat counts `{low}` and `{high}` are out of order", start, self._at)
        return low, high

    def _count(self, brace: int) -> int:
        start = self._at
        digits = self._take_while(_DIGITS)
        if not digits:
            self._refuse_brace(brace)
        if len(digits) > 9 or int(digits) > self._limits.regex_repeat:
            shown = digits if len(digits) <= 9 else digits[:9] + "..."
            self._refuse(
                f"repeat count `{shown}` is larger than {self._limits.regex_repeat}",
                start,
                self._at,
            )
        return int(digits)

    def _refuse_brace(self, start: int) -> NoReturn:
        self._refuse(
            "`{` does not begin a repeat count",
            start,
            max(self._at, start + 1),
            r"write `{n}`, `{n,}` or `{n,m}`, or `\{` for the character",
        )

    # Atoms

    def _atom(self) -> RegexNode | None:
        """The next atom; ``None`` for flags that apply from here on."""
        start = self._at
        character = self._text[start]
        self._at += 1
        match character:
            case "(":
                return self._group(start)
            case "[":
                return Characters(self._class(start))
            case ".":
                return Characters(sets.ALL if self._flags.s else sets.negate(sets.NEWLINE))
            case "^":
                return Assertion(Position.LINE_START if self._flags.m else Position.TEXT_START)
            case "$":
                return Assertion(Position.LINE_END if self._flags.m else Position.TEXT_END)
            case "\\":
                return self._escape(start)
            case "*" | "+" | "?" | "{":
                self._at = start
                self._refuse_bare_repeat()
            case _:
                ranges = sets.single(character)
        return Characters(self._folded(ranges))

    def _refuse_bare_repeat(self) -> NoReturn:
        start = self._at
        self._counts()
        operator = self._text[start : self._at]
        hint = f"write `\\{operator[0]}` for the character"
        self._refuse(f"there is nothing for `{operator}` to repeat", start, self._at, hint)

    def _folded(self, ranges: Ranges) -> Ranges:
        return sets.fold(ranges) if self._flags.i else ranges

    def _escape(self, start: int) -> RegexNode:
        if position := _ANCHORS.get(self._peek()):
            self._at += 1
            return Assertion(position)
        ranges = self._escaped_set(start)
        if ranges is not None:
            return Characters(ranges)
        return Characters(self._folded(sets.single(self._escaped_character(start))))

    # Escapes; `start` is the offset of the backslash and the position is past it

    def _escaped_set(self, start: int) -> Ranges | None:
        r"""The class of ``\d``, ``\pL`` and similar; ``None`` for other escapes."""
        letter = self._peek()
        if letter and letter.lower() in sets.PERL:
            self._at += 1
            ranges = sets.PERL[letter.lower()]
            return sets.negate(ranges) if letter.isupper() else ranges
        if letter in ("p", "P"):
            self._at += 1
            ranges = self._folded(sets.category(self._category(start)))
            return sets.negate(ranges) if letter == "P" else ranges
        return None

    def _category(self, start: int) -> str:
        if self._accept("{"):
            end = self._text.find("}", self._at)
            if end < 0:
                self._refuse("class name is not closed", start, len(self._text), "add `}`")
            name = self._text[self._at : end]
            self._at = end + 1
        else:
            name = self._peek()
            self._at += 1
        if name not in sets.CATEGORIES:
            self._refuse(
                f"`{name}` is not a supported Unicode class",
                start,
                self._at,
                r"general categories such as `\pL` and `\p{Lu}` are supported, scripts are not",
            )
        return name

    def _escaped_character(self, start: int) -> str:
        character = self._peek()
        if not character:
            self._refuse("pattern ends in a backslash", start, hint=r"write `\\` for the character")
        self._at += 1
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character == "x":
            return self._hexadecimal(start)
        if character in _DIGITS:
            message = "back-references and octal escapes are not supported"
            self._refuse(message, start, self._at, r"write a character by its code as `\x{...}`")
        if character in _REFUSED_ESCAPES:
            message, hint = _REFUSED_ESCAPES[character]
            self._refuse(message, start, self._at, hint)
        if character.isascii() and not character.isalnum():
            return character
        return self._refuse(f"`\\{character}` is not a known escape", start, self._at)

    def _hexadecimal(self, start: int) -> str:
        if self._accept("{"):
            digits = self._take_while(_HEXADECIMAL)
            closed = self._accept("}")
        else:
            digits = self._peek(2)
            closed = len(digits) == 2 and all(digit in _HEXADECIMAL for digit in digits)
            self._at += 2
        if not (digits and closed):
            self._refuse(
                r"`\x` needs two hexadecimal digits or digits in braces",
                start,
                self._at,
                r"write `\xHH` or `\x{HHHH}`",
            )
        code_point = int(digits, 16) if len(digits) <= 8 else sets.LAST + 1
        if not sets.contains(sets.ALL, code_point):
            self._refuse(r"`\x{...}` names no Unicode character", start, self._at)
        return chr(code_point)

    # Groups

    def _group(self, start: int) -> RegexNode | None:
        outer = self._flags
        if self._accept("?"):
            named = self._peek(2) not in ("<=", "<!") and (self._accept("P<") or self._accept("<"))
            if named:
                return self._capture(start, self._group_name(start), outer)
            return self._flagged(start, outer)
        return self._capture(start, None, outer)

    def _capture(self, start: int, name: str | None, outer: _Flags) -> RegexNode:
        self._names.append(name)
        index = len(self._names)
        return Group(index, name, self._body(start, outer))

    def _group_name(self, start: int) -> str:
        at = self._at
        end = self._text.find(">", at)
        if end < 0:
            self._refuse("group name is not closed", start, len(self._text), "add `>`")
        name = self._text[at:end]
        self._at = end + 1
        if not (name.isascii() and name.isidentifier()):
            self._refuse(f"`{name}` is not a group name", at, end, "use letters, digits and `_`")
        if name in self._names:
            self._refuse(f"group name `{name}` is used twice", at, end)
        return name

    def _flagged(self, start: int, outer: _Flags) -> RegexNode | None:
        self._flags = self._read_flags(start)
        if self._accept(")"):
            return None
        self._at += 1
        return self._body(start, outer)

    def _body(self, start: int, outer: _Flags) -> RegexNode:
        self._depth += 1
        if self._depth > self._limits.regex_nesting:
            self._refuse(f"groups are nested deeper than {self._limits.regex_nesting}", start)
        item = self._alternation()
        if not self._accept(")"):
            self._refuse("group is not closed", start, hint=r"add `)`, or write `\(`")
        self._depth -= 1
        self._flags = outer
        return item

    def _read_flags(self, start: int) -> _Flags:
        """The flags between ``(?`` and the ``:`` or ``)`` that ends them."""
        first = self._at
        self._refuse_special_group(start)
        changes: dict[str, bool] = {}
        value = True
        while (character := self._peek()) not in (":", ")", ""):
            self._at += 1
            if character == "-" and value:
                value = False
            elif character in _FLAGS and character not in changes:
                changes[character] = value
            else:
                self._refuse_flag(start, character, changes)
        if not character:
            self._refuse("group is not closed", start, hint=r"add `)`, or write `\(`")
        bare = character == ")" and self._at == first
        if bare or self._text[self._at - 1] == "-":
            self._refuse("there is no flag here", start, self._at + 1)
        return attrs.evolve(self._flags, **changes)

    def _refuse_special_group(self, start: int) -> None:
        for opening, (message, hint) in _REFUSED_GROUPS.items():
            if self._text.startswith(opening, self._at):
                self._refuse(message, start, self._at + len(opening), hint)

    def _refuse_flag(self, start: int, character: str, seen: dict[str, bool]) -> NoReturn:
        if character in seen:
            self._refuse(f"flag `{character}` is given twice", start, self._at)
        self._refuse(
            f"flag `{character}` is not supported", start, self._at, "the flags are `i m s U`"
        )

    # Classes

    def _class(self, start: int) -> Ranges:
        negated = self._accept("^")
        found: list[tuple[int, int]] = []
        first = True
        while first or self._peek() != "]":
            if self._at >= len(self._text):
                self._refuse("class is not closed", start, hint=r"add `]`, or write `\[`")
            found += self._class_item()
            first = False
        self._at += 1
        ranges = sets.union(found)
        return sets.negate(ranges) if negated else ranges

    def _class_item(self) -> Ranges:
        start = self._at
        self._refuse_set_operator()
        posix = self._posix_class()
        if posix is not None:
            return posix
        perl = self._perl_class()
        if perl is not None:
            if self._peek() == "-" and self._peek(2) != "-]":
                message = "a range may not begin with a class"
                self._refuse(message, start, self._at + 1, r"write `\-` for the hyphen")
            return perl
        low = self._class_character()
        if self._peek() != "-" or self._peek(2) == "-]":
            return self._folded(sets.single(low))
        return self._class_range(start, low)

    def _class_range(self, start: int, low: str) -> Ranges:
        self._refuse_set_operator()
        self._at += 1
        at = self._at
        if self._peek() == "\\" and self._peek(2)[1:] in (*"dDsSwWpP",):
            self._refuse(
                "a range may not end in a class", start, at + 2, r"write `\-` for the hyphen"
            )
        high = self._class_character()
        if high < low:
            self._refuse(f"range `{self._text[start : self._at]}` is out of order", start, self._at)
        return self._folded(sets.union([(ord(low), ord(high))]))

    def _class_character(self) -> str:
        start = self._at
        character = self._peek()
        if not character:
            self._refuse("class is not closed", start, hint="add `]`")
        self._at += 1
        if character == "\\":
            if self._peek() in _ANCHORS:
                name = self._peek()
                self._refuse(f"`\\{name}` is not supported in a class", start, self._at + 1)
            return self._escaped_character(start)
        if character == "[":
            self._refuse(
                "a class may not hold another class", start, hint=r"write `\[` for the character"
            )
        return character

    def _perl_class(self) -> Ranges | None:
        start = self._at
        ranges = self._escaped_set(start) if self._accept("\\") else None
        if ranges is None:
            self._at = start
        return ranges

    def _posix_class(self) -> Ranges | None:
        start = self._at
        if not self._accept("[:"):
            return None
        negated = self._accept("^")
        name = self._take_while("abcdefghijklmnopqrstuvwxyz")
        if not self._accept(":]") or name not in sets.POSIX:
            self._refuse(
                "unknown POSIX class",
                start,
                max(self._at, start + 2),
                r"the classes are " + " ".join(f"`[:{known}:]`" for known in sets.POSIX),
            )
        ranges = self._folded(sets.POSIX[name])
        return sets.negate(ranges) if negated else ranges

    def _refuse_set_operator(self) -> None:
        if self._peek(2) in _SET_OPERATORS:
            operator = self._peek(2)
            self._refuse(
                f"class set operation `{operator}` is not supported",
                self._at,
                self._at + 2,
                f"write `\\{operator[0]}` for the character",
            )


def _check_repeats(root: RegexNode, limit: int, length: int) -> None:
    """Reject nested repeats with counts that multiply beyond ``limit``, as RE2 does."""
    stack: list[tuple[RegexNode, int]] = [(root, 1)]
    while stack:
        node, product = stack.pop()
        match node:
            case Repetition(item=item, minimum=minimum, maximum=maximum):
                product *= max(1, minimum if maximum is None else maximum)
                if product > limit:
                    message = f"nested repeat counts multiply to more than {limit}"
                    raise RegexError(message, 0, length)
                stack.append((item, product))
            case Group(item=item):
                stack.append((item, product))
            case Concatenation(items=items) | Alternation(items=items):
                stack.extend((item, product) for item in items)
            case _:
                pass
