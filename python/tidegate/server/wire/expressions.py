"""The check of an expression for an editor."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import attrs
from msgspec import Meta

from tidegate.limits import DEFAULT

Purpose: TypeAlias = Literal["action", "scope", "condition", "match", "key-field", "window-field"]


@attrs.frozen(kw_only=True)
class ExpressionCheck:
    expression: Annotated[str, Meta(max_length=DEFAULT.source_bytes)]
    purpose: Purpose = "condition"
    entity: Annotated[bool, Meta(description="the condition is of a clause with an entity")] = False


@attrs.frozen(kw_only=True)
class ExpressionFinding:
    code: str
    severity: Literal["error", "warning"]
    message: str
    line: int
    column: int
    start: Annotated[int, Meta(description="first code point")]
    end: Annotated[int, Meta(description="after the last code point")]
    hint: str | None = None


@attrs.frozen(kw_only=True)
class ExpressionReport:
    ok: bool
    diagnostics: tuple[ExpressionFinding, ...]
    type: str | None = None
    fields: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    cost_estimate: int | None = None
    work_estimate: Annotated[
        int | None, Meta(description="of the budget of a decision, patterns at their worst")
    ] = None
    formatted: str | None = None
