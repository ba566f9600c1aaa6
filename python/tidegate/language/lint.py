"""Warnings: what is legal and most likely not meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.language.checked import Checked
    from tidegate.language.diagnostics import Diagnostic
    from tidegate.language.schema import Schema
    from tidegate.language.types import Type


def warnings_of(root: Checked, kind: Type, schema: Schema) -> Iterator[Diagnostic]:
    return iter(())
