"""Tidegate decides what to do with web traffic: allow, challenge or block.

The layers, each knowing only those before it: ``language`` reads expressions,
``functions`` says what they can call, ``evaluation`` runs them, ``policy``
joins them to a decision, ``Engine`` keeps the state between decisions.

``Client`` and ``AsyncClient`` ask a running service instead; they are imported when named.
"""

import typing

from tidegate import testing
from tidegate.definitions import load_definitions, parse_definitions
from tidegate.engine import Engine
from tidegate.errors import (
    DefinitionsError,
    EffectsError,
    EvaluationError,
    EventError,
    ExpressionError,
    SnapshotError,
    TidegateError,
)
from tidegate.evaluation.matches import Matches
from tidegate.language.checker import check
from tidegate.language.printer import format
from tidegate.language.schema import NamedList, Schema
from tidegate.limits import Limits
from tidegate.policy.served import Served
from tidegate.program import Program, compile
from tidegate.ruleset import RuleSet
from tidegate.values import Duration, OptionalValue, Timestamp, TypeName, UInt

if typing.TYPE_CHECKING:
    from tidegate.client import AsyncClient, Client

__all__ = [
    "AsyncClient",
    "Client",
    "DefinitionsError",
    "Duration",
    "EffectsError",
    "Engine",
    "EvaluationError",
    "EventError",
    "ExpressionError",
    "Limits",
    "Matches",
    "NamedList",
    "OptionalValue",
    "Program",
    "RuleSet",
    "Schema",
    "Served",
    "SnapshotError",
    "TidegateError",
    "Timestamp",
    "TypeName",
    "UInt",
    "check",
    "compile",
    "format",
    "load_definitions",
    "parse_definitions",
    "testing",
]


def __getattr__(name: str) -> object:
    if name in ("AsyncClient", "Client"):
        from tidegate import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
