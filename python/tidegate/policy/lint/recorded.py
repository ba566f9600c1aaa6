"""Tests that recorded events can't pass, because a value is only stored as a hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.evaluation.secrets.names import Names
from tidegate.language.tree.checked import Checked, Field, Index, Literal
from tidegate.language.tree.walk import walk
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.lint.atoms import normal
from tidegate.policy.lint.constraints import read_constraint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tidegate.language.check.checker import CheckedExpression
    from tidegate.language.tree.ast import Span
    from tidegate.policy.definitions.compile import Compilation

_COOKIES = "request.cookies"
_QUERY = "request.query_params"
_MEMBERS = frozenset(("request.headers", _QUERY, _COOKIES, "request.route_params", "fields"))


def unrecorded(compilation: Compilation, is_wanted: Callable[[str], bool]) -> Iterator[Finding]:
    """Findings about comparisons with values that records only have as a hash.

    Args:
        compilation: definitions without errors.
        is_wanted: whether to look at the expression at a pointer.
    """
    names = Names(compilation.compiled.source.settings.redact)
    for pointer, expression in conditions(compilation):
        if not is_wanted(pointer):
            continue
        found = dict(_secrets(expression, names))
        for name, span in found.items():
            yield Finding(
                "redacted-field-compared",
                f"`{name}` is a secret, and records only have its hash, which never equals this"
                " text: previews and replays of recorded events don't show what the test does",
                pointer,
                severity="warning",
                hint="test whether it is there, or send what you need to know as another field;"
                f" `settings.redact: ['!{name}']` would store it in clear",
                span=span,
            )


def conditions(compilation: Compilation) -> Iterator[tuple[str, CheckedExpression]]:
    """All conditions of definitions, each with its pointer."""
    compiled = compilation.compiled
    numbers = {
        section: {each.slug: at for at, each in enumerate(getattr(compiled.source, section))}
        for section in ("actions", "entities")
    }
    for action in compiled.actions:
        yield f"/actions/{numbers['actions'][action.slug]}/expression", action.expression
    for entity in compiled.entities:
        if entity.match is not None:
            at = numbers["entities"][entity.slug]
            yield f"/entities/{at}/match_expression", entity.match
    for at, policy in enumerate(compiled.source.policies):
        made = compilation.checked[id(policy)].compiled
        if made.expression is not None:
            yield f"/policies/{at}/expression", made.expression
        for number, clause in enumerate(made.clauses):
            if clause.expression is not None:
                yield f"/policies/{at}/clauses/{number}/expression", clause.expression


def _secrets(expression: CheckedExpression, names: Names) -> Iterator[tuple[str, Span]]:
    """The secrets that an expression compares with a text, each with its place."""
    for node in walk(normal(expression.root)):
        test = read_constraint(node)
        if test is not None and test.kind == "value":
            name = _secret(test.subject, test.options, names)
            if name is not None:
                yield name, node.span


def _secret(subject: Checked, options: Sequence[object], names: Names) -> str | None:
    """The name of a member that is a secret if it has one of some values; None if it isn't."""
    match subject:
        case Index(Field(field), Literal(str() as name)) if field in _MEMBERS:
            pass
        case _:
            return None
    texts = [each for each in options if isinstance(each, str)]
    if not texts or "" in texts:  # an empty text is stored as it is
        return None
    if field == _COOKIES:
        return None if names.is_clear(name) else name
    is_queried = field == _QUERY
    is_secret = all(names.holds_secret(name, each, is_queried=is_queried) for each in texts)
    return name if is_secret else None
