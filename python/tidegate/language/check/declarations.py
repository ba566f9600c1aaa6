"""The functions an expression may call: the standard ones and those the schema declares."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import attrs

from tidegate.functions import FUNCTIONS
from tidegate.types import DYN, Primitive, Signature, Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.language.check.inference import Inference

Key = tuple[str, bool]


@attrs.frozen
class Declaration:
    """The overloads of a function, and a table of those without type parameters."""

    name: str
    member: bool
    signatures: tuple[Signature, ...]
    exact: Mapping[tuple[Type, ...], Type]

    def result(self, given: tuple[Type, ...], inference: Inference) -> Type | None:
        """The result type for arguments of these types, or None if no overload fits.

        If several overloads fit because an argument is ``dyn``, and their results differ, the
        result is ``dyn``.
        """
        known = self.exact.get(given)
        if known is not None:
            return known
        found: list[Type] = []
        for signature in self.signatures:
            if len(signature.params) != len(given):
                continue
            params, result = inference.instantiate(signature)
            if inference.agree(given, params):
                found.append(inference.resolve(result))
        if not found:
            return None
        first = found[0]
        return first if all(kind == first for kind in found[1:]) else DYN


def declare(signatures: Iterable[Signature]) -> dict[Key, Declaration]:
    """Declarations by name and whether they are members."""
    grouped: dict[Key, list[Signature]] = {}
    for signature in signatures:
        grouped.setdefault((signature.name, signature.member), []).append(signature)
    return {
        (name, member): Declaration(name, member, tuple(group), _exact(group))
        for (name, member), group in grouped.items()
    }


@cache
def standard() -> Mapping[Key, Declaration]:
    """The function library."""
    return declare(
        overload.signature for function in FUNCTIONS.values() for overload in function.overloads
    )


@cache
def of_schema(signatures: tuple[Signature, ...]) -> Mapping[Key, Declaration]:
    """The function library and the functions a schema declares."""
    return {**standard(), **declare(signatures)} if signatures else standard()


def _exact(signatures: list[Signature]) -> dict[tuple[Type, ...], Type]:
    table: dict[tuple[Type, ...], Type] = {}
    for signature in signatures:
        if all(isinstance(kind, Primitive) and kind is not DYN for kind in signature.params):
            table.setdefault(signature.params, signature.result)
    return table
