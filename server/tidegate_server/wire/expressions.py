"""The check of an expression for an editor."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import attrs
from msgspec import Meta

from tidegate.limits import DEFAULT

Purpose: TypeAlias = Literal[
    "action", "scope", "condition", "match", "key-field", "window-field", "header"
]


@attrs.frozen(kw_only=True)
class ExpressionCheck:
    expression: Annotated[str, Meta(max_length=DEFAULT.source_bytes)]
    purpose: Purpose = "condition"
    entity: Annotated[bool, Meta(description="the condition is of a clause with an entity")] = False
    types: Annotated[bool, Meta(description="whether the type of each part is answered")] = False


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
class TypedPart:
    """A part of an expression and its type; positions count code points."""

    start: int
    end: int
    type: str


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
    nodes: Annotated[
        tuple[TypedPart, ...],
        Meta(description="every part of a text that parses, outer parts first, if asked for"),
    ] = ()


@attrs.frozen(kw_only=True)
class LanguageOverload:
    """One way to call a function."""

    receiver: Annotated[str | None, Meta(description="type of what stands before the dot")]
    parameters: tuple[str, ...]
    result: str
    signature: str


@attrs.frozen(kw_only=True)
class LanguageFunction:
    name: str
    description: Annotated[str, Meta(description="what it does, with an example; Markdown")]
    is_operator: bool
    overloads: tuple[LanguageOverload, ...]


@attrs.frozen(kw_only=True)
class LanguageMacro:
    """A macro: it is called like a function, and declares a variable or takes a name."""

    name: str
    usage: str


@attrs.frozen(kw_only=True)
class LanguageField:
    """A field of every event."""

    name: str
    type: str


@attrs.frozen(kw_only=True)
class Language:
    """The expression language, from the checker's own tables."""

    functions: tuple[LanguageFunction, ...]
    macros: tuple[LanguageMacro, ...]
    keywords: Annotated[tuple[str, ...], Meta(description="words that are no names")]
    types: tuple[str, ...]
    fields: tuple[LanguageField, ...]
    entity_fields: Annotated[
        tuple[LanguageField, ...], Meta(description="of conditions of clauses with an entity")
    ]
    limits: Annotated[dict[str, int], Meta(description="bounds of one expression")]


@attrs.frozen(kw_only=True)
class ExpressionCompletion:
    expression: Annotated[str, Meta(max_length=DEFAULT.source_bytes)]
    position: Annotated[int, Meta(ge=0, description="of the cursor, in code points")]
    purpose: Purpose = "condition"
    entity: Annotated[bool, Meta(description="the condition is of a clause with an entity")] = False


@attrs.frozen(kw_only=True)
class Completion:
    """A text that fits between `start` and the position."""

    label: str
    insert: str
    kind: Literal["field", "action", "function", "macro", "list"]
    type: str | None = None
    detail: str | None = None
    fill_rate: Annotated[
        float | None, Meta(description="share of the events that have a captured field, 0 to 1")
    ] = None


@attrs.frozen(kw_only=True)
class Completions:
    start: Annotated[int, Meta(description="first code point that a completion takes the place of")]
    completions: Annotated[tuple[Completion, ...], Meta(description="100 at most")]
