from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.language.ast import Node


def to_text(tree: Node) -> str:
    raise NotImplementedError


def format(text: str) -> str:
    return text
