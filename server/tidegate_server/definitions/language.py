"""``language``: the parts of expressions, from the checker's own tables."""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING

import attrs
import msgspec

from tidegate.editing.descriptions import description_of
from tidegate.functions import FUNCTIONS
from tidegate.language.check.macros import USAGE
from tidegate.language.check.resolve import TYPE_NAMES
from tidegate.language.parse.tree_builder import RESERVED
from tidegate.language.tree.schema import ENTITY_STATE, FIELD_MODEL
from tidegate.limits import DEFAULT
from tidegate_server.control.call import Answer, Call
from tidegate_server.wire import expressions as wire_expressions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.functions.registry import Function
    from tidegate.types import Signature, Type


def read_language(call: Call) -> Answer:  # noqa: ARG001
    """Return functions, macros, words, types, fields and limits, under a tag for their version."""
    return Answer(body=_language(), revision=_revision())


@cache
def _revision() -> int:
    """Return a number that differs for another document of the language."""
    return zlib.crc32(msgspec.json.encode(_language()))


@cache
def _language() -> wire_expressions.Language:
    return wire_expressions.Language(
        functions=tuple(_function(each) for _, each in sorted(FUNCTIONS.items())),
        macros=tuple(
            wire_expressions.LanguageMacro(name=name, usage=usage)
            for name, usage in sorted(USAGE.items())
        ),
        keywords=tuple(sorted(RESERVED)),
        types=tuple(TYPE_NAMES),
        fields=_fields(FIELD_MODEL),
        entity_fields=_fields(ENTITY_STATE),
        limits=attrs.asdict(DEFAULT),
    )


def _function(function: Function) -> wire_expressions.LanguageFunction:
    return wire_expressions.LanguageFunction(
        name=function.name,
        description=description_of(function),
        is_operator=not function.name.replace(".", "").replace("_", "").isalnum(),
        overloads=tuple(_overload(each.signature) for each in function.overloads),
    )


def _overload(signature: Signature) -> wire_expressions.LanguageOverload:
    texts = tuple(map(str, signature.params))
    return wire_expressions.LanguageOverload(
        receiver=texts[0] if signature.member else None,
        parameters=texts[1:] if signature.member else texts,
        result=str(signature.result),
        signature=str(signature),
    )


def _fields(model: Mapping[str, Type]) -> tuple[wire_expressions.LanguageField, ...]:
    return tuple(
        wire_expressions.LanguageField(name=name, type=str(kind)) for name, kind in model.items()
    )
