"""Syntax errors in words: the unexpected part, the expected ones, and a fix."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from tidegate.language.tree.ast import Span
from tidegate.language.tree.diagnostics import Diagnostic, quote

if TYPE_CHECKING:
    from collections.abc import Collection

findings: ContextVar[list[Diagnostic]] = ContextVar("findings")
"""The list to which the current parse adds its findings."""

FOREIGN_WORDS = {"and": "&&", "AND": "&&", "or": "||", "OR": "||"}
"""Operators that other languages spell as words, found where an operator must be."""

FOREIGN_FIELDS = {
    "http.request.method": "request.method",
    "http.request.uri.path": "request.path",
    "http.request.full_uri": "request.path",
    "http.request.uri.query": 'request.query_params["name"]',
    "http.request.headers": 'request.headers["name"]',
    "http.request.cookies": 'request.cookies["name"]',
    "http.host": "request.host",
    "http.user_agent": "request.user_agent",
    "http.referer": "request.referer",
    "http.cookie": 'request.headers["cookie"]',
    "ip.src": "request.client_ip",
    "ip.src.country": "derived.country",
    "ip.geoip.country": "derived.country",
    "ip.src.asnum": "derived.asn",
    "ip.geoip.asnum": "derived.asn",
    "request.uri": "request.path",
    "request.uri.path": "request.path",
    "remote_addr": "request.client_ip",
    "remoteAddress": "request.client_ip",
    "userAgent": "request.user_agent",
}
"""Fields of other rule languages, and their equivalents here."""

_HINTS = {
    "not": "write `!` before the condition",
    "NOT": "write `!` before the condition",
    "eq": "write `==`",
    "is": "write `==`",
    "~": "functions are called: `text.matches(\"pattern\")`",
    "like": "functions are called: `text.like(\"part%\")`",
    "contains": "functions are called: `text.contains(\"part\")`",
    "matches": "functions are called: `text.matches(\"pattern\")`",
    "startsWith": "functions are called: `text.startsWith(\"start\")`",
    "endsWith": "functions are called: `text.endsWith(\"end\")`",
    ";": "an expression is one value; join conditions with `&&`",
    "$": "variables are written by name alone",
    "#": "comments start with `//`",
    "/": "comments start with `//`",
    "@": "variables are written by name alone",
    "\\": "a backslash belongs inside a string",
    "“": "strings take straight quotes",
    "”": "strings take straight quotes",
    "‘": "strings take straight quotes",
    "’": "strings take straight quotes",
}  # fmt: skip

_PUNCTUATION = {
    "COMMA": "`,`", "COLON": "`:`", "RPAR": "`)`", "RSQB": "`]`", "RBRACE": "`}`",
    "$END": "the end of the expression",
}  # fmt: skip


def report(code: str, message: str, span: Span, hint: str | None = None) -> None:
    """Add a finding to the current parse."""
    findings.get().append(Diagnostic(code, message, span, hint=hint))


def withdraw(span: Span) -> bool:
    """Remove the last finding if it is about exactly this span."""
    found = findings.get()
    if found and found[-1].span == span:
        found.pop()
        return True
    return False


def unexpected_token(
    value: str, span: Span, accepted: Collection[str], before: str = ""
) -> Diagnostic:
    """Report a token of an unexpected kind, with the kinds that could follow.

    An empty ``value`` is the end of the text; ``before`` is the text before the token.
    """
    met = f"unexpected {quote(value)}" if value else "unexpected end of the expression"
    message = f"{met}, expected {_in_words(accepted)}"
    return Diagnostic("syntax-error", message, span, hint=_HINTS.get(value) or _meant(before))


def _meant(before: str) -> str | None:
    """The meaning of the words before a token in another language."""
    if before.endswith(("not", "NOT")) and not before[-4:-3].isalnum():
        return _HINTS["not"]
    opened = before.rpartition("(")[0].rstrip()
    if opened.endswith(" in") and ")" not in before[len(opened) :]:
        return "a list has square brackets: `x in [...]`"
    return None


def unexpected_character(text: str, at: int) -> Diagnostic:
    """Report a character that doesn't begin a token."""
    character = text[at]
    start = at
    prefix = text[at : at + 3].lower()
    if character in "\"'" or prefix[:2] in ("r'", 'r"', "b'", 'b"') or prefix[:2] == "br":
        return Diagnostic(
            "unterminated-string", "unterminated string", Span(start, _line_end(text, at)),
            hint="close the quote on the same line, or use three quotes for several lines",
        )  # fmt: skip
    if character.isdigit() or (character == "." and text[at + 1 : at + 2].isdigit()):
        end = at + 1
        while end < len(text) and (text[end].isalnum() or text[end] in "._"):
            end += 1
        return Diagnostic(
            "invalid-number", f"malformed number {quote(text[at:end])}", Span(at, end),
            hint="names start with a letter; an address is a string: `\"192.0.2.1\"`",
        )  # fmt: skip
    if character == "`":
        return Diagnostic(
            "syntax-error", "malformed back-quoted name", Span(at, _line_end(text, at)),
            hint="back-quotes hold letters, digits, and `_ . - /` and spaces",
        )  # fmt: skip
    return Diagnostic(
        "syntax-error", f"unexpected character {quote(character)}", Span(at, at + 1),
        hint=_HINTS.get(character),
    )  # fmt: skip


def too_deep(span: Span, limit: int) -> Diagnostic:
    """Report nesting beyond the limit."""
    return Diagnostic(
        "too-deep", f"nested more than {limit} levels deep", span,
        hint="split the expression, or use a list: `x in [...]`",
    )  # fmt: skip


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _in_words(accepted: Collection[str]) -> str:
    if "INT" in accepted:
        words = ["a value"]
    elif "OPERATOR" in accepted:
        words = ["an operator"]
    elif "IDENT" in accepted:
        words = ["a name"]
    else:
        words = []
    words += [text for kind, text in _PUNCTUATION.items() if kind in accepted]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "nothing")))
