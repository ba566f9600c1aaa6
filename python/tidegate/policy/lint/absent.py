"""Fields that are always empty where definitions are to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.language.tree.checked import Field
from tidegate.language.tree.walk import walk
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.lint.recorded import conditions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tidegate.language.tree.ast import Span
    from tidegate.policy.definitions.compile import Compilation

FIELD_ALWAYS_EMPTY = "field-always-empty"


def absent(
    compilation: Compilation, reasons: Mapping[str, tuple[str, str]], about: str = ""
) -> Iterator[Finding]:
    """Findings about conditions that read fields that never have a value.

    Args:
        compilation: definitions without errors.
        reasons: for each such field, why it is empty, and what to do about it.
        about: the JSON pointer of the object that is examined, ``/policies/3``; all by default.
    """
    for pointer, expression in conditions(compilation):
        if about and not pointer.startswith(f"{about}/"):
            continue
        found: dict[str, Span] = {}
        for node in walk(expression.root):
            if isinstance(node, Field) and node.name in reasons:
                found.setdefault(node.name, node.span)
        for name, span in found.items():
            reason, hint = reasons[name]
            yield Finding(
                FIELD_ALWAYS_EMPTY,
                f"`{name}` is empty: {reason}",
                pointer,
                severity="warning",
                hint=hint,
                span=span,
            )
