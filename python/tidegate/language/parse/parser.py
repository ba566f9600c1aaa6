"""Parses text into a syntax tree.  The only module that imports the parser library.

``grammar.lark`` is read as LALR(1).  The lexer is our own, one regular expression built from the
grammar's terminals: it is faster than the library's and counts brackets, so that no text can nest
deeper than the limit.  The methods of ``TreeBuilder`` run while the parser reduces, so nothing
recurses over the author's text.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lark import Lark
from lark.exceptions import UnexpectedInput, UnexpectedToken
from lark.lexer import Lexer as LarkLexer

from tidegate.language.parse import syntax_errors
from tidegate.language.parse.reductions import Misplaced, Reductions
from tidegate.language.parse.tree_builder import Token, TreeBuilder
from tidegate.language.tree.ast import (
    BoolLiteral,
    BytesLiteral,
    DoubleLiteral,
    IntLiteral,
    ListLiteral,
    MapLiteral,
    Node,
    NullLiteral,
    Span,
    StringLiteral,
    UintLiteral,
)
from tidegate.language.tree.diagnostics import Diagnostic
from tidegate.language.tree.refusal import refuse
from tidegate.language.tree.walk import children, measure, walk
from tidegate.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Iterator


def parse(text: str, limits: Limits = DEFAULT) -> Node:
    """The syntax tree of an expression.

    Args:
        text: the expression.
        limits: limits on its length, nesting, nodes and lists.

    Raises:
        ExpressionError: the text isn't an expression, or exceeds a limit; it has every finding that
            the parser could make.
    """
    _require_length(text, limits)
    findings: list[Diagnostic] = []
    previous = syntax_errors.findings.set(findings)
    tree: Any = None
    try:
        tree = _reductions().tree(_Reading(text, limits.nesting).tokens)
    except (Misplaced, LexicalError):
        findings.clear()
        tree = _explained(_Reading(text, limits.nesting), findings)
    finally:
        syntax_errors.findings.reset(previous)
    if not findings:
        findings = _past_limits(tree, limits)
    if findings:
        raise refuse(text, findings)
    return tree  # type: ignore[no-any-return]


def _explained(reading: _Reading, findings: list[Diagnostic]) -> Any:
    """Have Lark read a text with a mistake, and add what is wrong with it to the findings."""
    try:
        return _lark().parse(reading, on_error=reading.recover)
    except UnexpectedToken as unexpected:
        findings.append(reading.explain(unexpected))
    except LexicalError as error:
        findings.append(error.finding)
    return None


def tokens(text: str) -> Iterator[Span]:
    """The spans of a text's tokens; comments are in the gaps."""
    for token in _lexer().tokens(_Reading(text, len(text))):
        yield Span(token.start_pos, token.end_pos)


_SCALARS = (
    NullLiteral,
    BoolLiteral,
    IntLiteral,
    UintLiteral,
    DoubleLiteral,
    StringLiteral,
    BytesLiteral,
)


class LexicalError(Exception):
    """The rest of the text cannot be split into tokens."""

    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Reading:
    """One parse: the text, its tokens so far, and the open brackets."""

    def __init__(self, text: str, max_nesting: int) -> None:
        self.text = text
        self.max_nesting = max_nesting
        self.open: list[Token] = []
        self.tokens = _lexer().tokens(self)

    def recover(self, unexpected: UnexpectedInput) -> bool:
        """Read ``and`` and ``or`` as the corresponding operators, and continue."""
        if not isinstance(unexpected, UnexpectedToken):
            return False
        token: Any = unexpected.token
        meant = syntax_errors.FOREIGN_WORDS.get(token.value)
        if meant is None or "OPERATOR" not in unexpected.expected:
            return False
        span = Span(token.start_pos, token.end_pos)
        message = f"no such operator `{token.value}`"
        syntax_errors.report("syntax-error", message, span, f"write `{meant}`")
        operator = Token("OPERATOR", meant, span.start, span.end)
        parser: Any = unexpected.interactive_parser
        parser.feed_token(operator)
        return True

    def count(self, bracket: Token) -> None:
        """Track the brackets.

        Raises:
            LexicalError: this one nests too deep.
        """
        if bracket.type in _CLOSING:
            if self.open:
                self.open.pop()
            return
        self.open.append(bracket)
        if len(self.open) > self.max_nesting:
            span = Span(bracket.start_pos, bracket.end_pos)
            raise LexicalError(syntax_errors.too_deep(span, self.max_nesting))

    def explain(self, unexpected: UnexpectedToken) -> Diagnostic:
        """The finding about a misplaced token."""
        token: Any = unexpected.token
        accepted = unexpected.accepts or set()
        if token.type != "$END":
            span = Span(token.start_pos, token.end_pos)
            before = self.text[: span.start].rstrip()
            return syntax_errors.unexpected_token(token.value, span, accepted, before)
        if self.open:
            innermost = self.open[-1]
            span = Span(innermost.start_pos, innermost.end_pos)
            message = f"`{innermost.value}` is never closed"
            return Diagnostic("syntax-error", message, span)
        if next(tokens(self.text), None) is None:
            return Diagnostic("syntax-error", "the expression is empty", Span(0, len(self.text)))
        end = len(self.text.rstrip())
        return syntax_errors.unexpected_token("", Span(end, end), accepted)


_OPENING = frozenset(("LPAR", "LSQB", "LBRACE"))
_CLOSING = frozenset(("RPAR", "RSQB", "RBRACE"))
_BRACKETS = _OPENING | _CLOSING


class _Lexer(LarkLexer):
    """Splits a text into tokens with one regular expression.

    Terminals given by a regular expression become named groups; those given by plain text are
    looked up, including keywords.
    """

    __future_interface__ = 2

    def __init__(self, lexer_conf: Any) -> None:
        ignored = set(lexer_conf.ignore)
        terminals = sorted(lexer_conf.terminals, key=lambda terminal: -terminal.priority)
        self._literals = {t.pattern.value: t.name for t in terminals if t.pattern.type == "str"}
        patterns = [t for t in terminals if t.pattern.type == "re"]
        blank = "|".join(t.pattern.value for t in patterns if t.name in ignored)
        named = [f"(?P<{t.name}>{t.pattern.value})" for t in patterns if t.name not in ignored]
        plain = "".join(re.escape(text) for text in self._literals if len(text) == 1)
        self._pattern = re.compile(f"(?:{blank})*+(?:{'|'.join(named)}|(?P<PLAIN>[{plain}]))?+")

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:  # noqa: ARG002
        """The unread tokens: after a recovery the parser asks again."""
        reading: _Reading = lexer_state.text
        return reading.tokens

    def tokens(self, reading: _Reading) -> Iterator[Token]:
        """Every token of the text.

        Raises:
            LexicalError: a character doesn't begin a token, or a bracket nests too deep.
        """
        text, literals = reading.text, self._literals
        for found in self._pattern.finditer(text):
            kind = found.lastgroup
            if kind is None:
                if found.end() == len(text):
                    return
                raise LexicalError(syntax_errors.unexpected_character(text, found.end()))
            value, (start, end) = found[kind], found.span(kind)
            if kind in ("PLAIN", "IDENT"):
                kind = literals.get(value, kind)
            token = Token(kind, value, start, end)
            if kind in _BRACKETS:
                reading.count(token)
            yield token


@cache
def _lark() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar, parser="lalr", lexer=_Lexer, transformer=TreeBuilder(),
        keep_all_tokens=True, maybe_placeholders=False,
    )  # fmt: skip


@cache
def _reductions() -> Reductions:
    return Reductions(_lark(), TreeBuilder())


def _lexer() -> _Lexer:
    lexer: _Lexer = _lark().parser.lexer
    return lexer


# Limits


def _require_length(text: str, limits: Limits) -> None:
    """Reject a text that is empty or too long before parsing it.

    Raises:
        ExpressionError: as said.
    """
    if len(text) <= limits.source_bytes:
        try:
            if len(text.encode()) <= limits.source_bytes:
                return
        except UnicodeEncodeError as error:
            message = "the text holds half of a surrogate pair"
            span = Span(error.start, error.end)
            raise refuse(text, [Diagnostic("invalid-text", message, span)]) from None
    message = f"the expression is longer than {limits.source_bytes} bytes"
    span = Span(limits.source_bytes, len(text))
    hint = "keep long lists of values outside, as a named list"
    raise refuse(text, [Diagnostic("too-long", message, span, hint=hint)])


def _past_limits(tree: Node, limits: Limits) -> list[Diagnostic]:
    count, deep = measure(tree, limits.nesting)
    if deep is not None:
        return [syntax_errors.too_deep(deep.span, limits.nesting)]
    if count <= min(limits.nodes, limits.list_elements):
        return []
    return _too_many(tree, limits)


def _too_many(tree: Node, limits: Limits) -> list[Diagnostic]:
    """Overlong lists and maps, and too many nodes; constants in a list do not count."""
    findings, count = [], 0
    for node in walk(tree):
        count += 1
        size = len(_parts(node))
        if size > limits.list_elements:
            message = f"a list or map of {size} elements, more than {limits.list_elements}"
            findings.append(Diagnostic("too-many-elements", message, node.span))
        if size:
            count -= sum(1 for child in children(node) if isinstance(child, _SCALARS))
    if count > limits.nodes:
        message = f"{count} nodes, more than {limits.nodes}"
        hint = "split the expression"
        findings.append(Diagnostic("too-many-nodes", message, tree.span, hint=hint))
    return findings


def _parts(node: Node) -> tuple[Any, ...]:
    if isinstance(node, ListLiteral):
        return node.elements
    return node.entries if isinstance(node, MapLiteral) else ()
