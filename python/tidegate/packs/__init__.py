"""Packs: policies to start from, each with tests, measured figures and honest notes.

docs/packs.md describes them.
"""

from tidegate.packs.pack import (
    BUNDLED,
    Pack,
    PackError,
    bundled_pack,
    bundled_packs,
    load_pack,
)
from tidegate.packs.whole import whole_document

__all__ = [
    "BUNDLED",
    "Pack",
    "PackError",
    "bundled_pack",
    "bundled_packs",
    "load_pack",
    "whole_document",
]
