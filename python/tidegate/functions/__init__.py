"""The function library: every function and operator, by name.

``FUNCTIONS`` is where the checker reads signatures and the reference evaluator finds meanings.
Each family has its own file; a function is declared there once.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tidegate.functions import (  # noqa: F401  (imported for what they declare)
    conversions,
    decoding,
    encoders,
    formatting,
    hashing,
    lists,
    network,
    numbers,
    operators,
    optionals,
    regex,
    text,
    time,
)
from tidegate.functions.registry import Function, declared

if TYPE_CHECKING:
    from collections.abc import Mapping

FUNCTIONS: Mapping[tuple[str, bool], Function] = MappingProxyType(declared())
"""Every function by its name, and whether it is called as a member."""

__all__ = ["FUNCTIONS", "Function"]
