"""The public names of the package, with what they are; ``tidegate`` imports them on first use."""

import typing

from tidegate import testing
from tidegate.decider import Action, ActionType, Allow, Block, Challenge, Decider, Decision, Reason
from tidegate.definitions import Source, load_definitions, parse_definitions
from tidegate.engine import Clock, Engine
from tidegate.errors import (
    DefinitionsError,
    EffectsError,
    EvaluationError,
    EventError,
    ExpressionError,
    SnapshotError,
    TidegateError,
)
from tidegate.evaluation.envelope import PreparedContext, Strictness
from tidegate.evaluation.matches import Matches
from tidegate.evaluation.rules import Evaluator
from tidegate.frames.frame import Frame
from tidegate.language.check.checker import CheckedExpression, check
from tidegate.language.check.estimate import CostEstimate
from tidegate.language.check.references import References
from tidegate.language.printer import format
from tidegate.language.tree.ast import Span
from tidegate.language.tree.diagnostics import Diagnostic
from tidegate.language.tree.schema import Schema
from tidegate.limits import Limits
from tidegate.policy.backend import Frozen
from tidegate.policy.decision import EngineDecision, Entity, FiredClause, WindowValue
from tidegate.policy.definitions.findings import Finding, SecondPlace
from tidegate.policy.definitions.keys import Part
from tidegate.policy.definitions.model import Action as ActionDefinition
from tidegate.policy.definitions.model import Block as BlockForm
from tidegate.policy.definitions.model import Challenge as ChallengeForm
from tidegate.policy.definitions.model import (
    Clause,
    Definitions,
    EntityDefinition,
    ListSource,
    Mitigation,
    Mode,
    Override,
    Policy,
    Settings,
    Tenant,
    Window,
)
from tidegate.policy.definitions.model import NamedList as ListDefinition
from tidegate.policy.explain.explain import Explanation
from tidegate.policy.explain.parts import (
    ActionExplanation,
    ClauseExplanation,
    EntityExplanation,
    ExpressionExplanation,
    OverrideExplanation,
    PolicyExplanation,
    StepExplanation,
    WindowExplanation,
)
from tidegate.policy.served import Served
from tidegate.policy.state.inspection import ActiveMitigation, EntityState, WindowState
from tidegate.program import Program, compile
from tidegate.ruleset import RuleSet, Stats
from tidegate.types import NamedList, Signature, Type
from tidegate.values import Duration, OptionalValue, Timestamp, TypeName, UInt

_LATE = (
    "AsyncClient",
    "Backoff",
    "Batching",
    "BeaconResponse",
    "Client",
    "ClientError",
    "DeliveryCounts",
    "EncodedEvent",
    "ErrorDetail",
    "Event",
    "FailMode",
    "FailedEvent",
    "RequestContext",
    "RuntimeDecision",
    "World",
)
"""Names imported on first use: a program that only decides does not load the client."""
if typing.TYPE_CHECKING:
    from tidegate.client import (
        AsyncClient,
        Backoff,
        Batching,
        BeaconResponse,
        Client,
        ClientError,
        DeliveryCounts,
        EncodedEvent,
        ErrorDetail,
        Event,
        FailedEvent,
        FailMode,
        RequestContext,
        RuntimeDecision,
        World,
    )

    __version__: str

__all__ = [
    "Action",
    "ActionDefinition",
    "ActionExplanation",
    "ActionType",
    "ActiveMitigation",
    "Allow",
    "AsyncClient",
    "Backoff",
    "Batching",
    "BeaconResponse",
    "Block",
    "BlockForm",
    "Challenge",
    "ChallengeForm",
    "CheckedExpression",
    "Clause",
    "ClauseExplanation",
    "Client",
    "ClientError",
    "Clock",
    "CostEstimate",
    "Decider",
    "Decision",
    "Definitions",
    "DefinitionsError",
    "DeliveryCounts",
    "Diagnostic",
    "Duration",
    "EffectsError",
    "EncodedEvent",
    "Engine",
    "EngineDecision",
    "Entity",
    "EntityDefinition",
    "EntityExplanation",
    "EntityState",
    "ErrorDetail",
    "EvaluationError",
    "Evaluator",
    "Event",
    "EventError",
    "Explanation",
    "ExpressionError",
    "ExpressionExplanation",
    "FailMode",
    "FailedEvent",
    "Finding",
    "FiredClause",
    "Frame",
    "Frozen",
    "Limits",
    "ListDefinition",
    "ListSource",
    "Matches",
    "Mitigation",
    "Mode",
    "NamedList",
    "OptionalValue",
    "Override",
    "OverrideExplanation",
    "Part",
    "Policy",
    "PolicyExplanation",
    "PreparedContext",
    "Program",
    "Reason",
    "References",
    "RequestContext",
    "RuleSet",
    "RuntimeDecision",
    "Schema",
    "SecondPlace",
    "Served",
    "Settings",
    "Signature",
    "SnapshotError",
    "Source",
    "Span",
    "Stats",
    "StepExplanation",
    "Strictness",
    "Tenant",
    "TidegateError",
    "Timestamp",
    "Type",
    "TypeName",
    "UInt",
    "Window",
    "WindowExplanation",
    "WindowState",
    "WindowValue",
    "World",
    "__version__",
    "check",
    "compile",
    "format",
    "load_definitions",
    "parse_definitions",
    "testing",
]


if not typing.TYPE_CHECKING:  # let type checkers report a misspelt name

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib import metadata

            return metadata.version("tidegate")
        if name in _LATE:
            from tidegate import client

            return getattr(client, name)
        raise AttributeError(f"module 'tidegate' has no attribute {name!r}")
