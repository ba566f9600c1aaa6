"""The members of a file of policy tests, with their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from tidegate.policy.definitions.model import Mode
from tidegate.policy.definitions.shapes import (
    Anything,
    Boolean,
    Choice,
    Integer,
    Many,
    Map,
    Part,
    Text,
    member,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION = "tidegate.test/v1"
DEFAULT_START = "2026-01-01T00:00:00Z"
MAX_TESTS = 10_000
MAX_STEPS = 10_000
MAX_TIMES = 100_000
MAX_EVENTS = 10_000
MAX_NAMES = 1_000

ActionType: TypeAlias = Literal["allow", "challenge", "block"]
_TEXT = member(Text(minimum=1, maximum=1_000))
_LENGTH = member(Text(minimum=1))
_COUNT = member(Integer(0, 2**53))
REASONS = ("no-match", "policy", "active-mitigation", "budget-exceeded", "banned", "exempt")
_MODE = Choice(("Monitor", "Challenge", "Block"))


@attrs.frozen(kw_only=True)
class ExpectedClause:
    """A clause that fired; members left out may have any value."""

    policy: str | None = attrs.field(default=None, metadata=_TEXT)
    clause: str | None = attrs.field(default=None, metadata=_TEXT)
    mitigation: str | None = attrs.field(default=None, metadata=_TEXT)
    mode: Mode | None = attrs.field(default=None, metadata=member(_MODE))
    active: bool | None = attrs.field(default=None, metadata=member(Boolean()))
    """Whether only its mitigation of an earlier event was active."""
    window: int | None = attrs.field(default=None, metadata=_COUNT)
    """The count of its window, with this event."""


@attrs.frozen(kw_only=True)
class Expectation:
    """The expected decision on each event of a step; members left out may have any value."""

    action: ActionType | None = attrs.field(
        default=None, metadata=member(Choice(("allow", "challenge", "block")))
    )
    reason: str | None = attrs.field(default=None, metadata=member(Choice(REASONS)))
    policy: str | None = attrs.field(default=None, metadata=_TEXT)
    clause: str | None = attrs.field(default=None, metadata=_TEXT)
    mitigation: str | None = attrs.field(default=None, metadata=_TEXT)
    status_code: int | None = attrs.field(default=None, metadata=member(Integer(400, 599)))
    provider: str | None = attrs.field(default=None, metadata=_TEXT)
    difficulty: int | None = attrs.field(default=None, metadata=member(Integer(1, 10)))
    return_url: str | None = attrs.field(default=None, metadata=_TEXT)
    fired: tuple[ExpectedClause, ...] | None = attrs.field(
        default=None, metadata=member(Many(Part(ExpectedClause), maximum=MAX_NAMES))
    )
    """Every clause that fired, in order."""
    matched_actions: tuple[str, ...] | None = attrs.field(
        default=None, metadata=member(Many(Text(minimum=1), maximum=MAX_NAMES))
    )
    """Every action of the event, in order."""
    entities: Mapping[str, tuple[Any, ...]] | None = attrs.field(
        default=None, metadata=member(Map(Many(Anything(), maximum=8), maximum=MAX_NAMES))
    )
    """Slugs of all entity definitions that apply, with the parts of the keys."""
    errors: Mapping[str, str] | None = attrs.field(
        default=None, metadata=member(Map(Text(minimum=1), maximum=MAX_NAMES))
    )
    """Places of all expressions that failed, with the codes."""
    client_ip_problem: str | None = attrs.field(default=None, metadata=_TEXT)
    refused: str | None = attrs.field(default=None, metadata=_TEXT)
    """A part of the message with which the event is refused."""


@attrs.frozen(kw_only=True)
class Bounds:
    """How many decisions of a kind are expected."""

    at_least: int = attrs.field(default=0, metadata=_COUNT)
    at_most: int | None = attrs.field(default=None, metadata=_COUNT)


@attrs.frozen(kw_only=True)
class ReplayExpectation:
    """The expected decisions of a replay."""

    allow: Bounds | None = attrs.field(default=None, metadata=member(Part(Bounds)))
    challenge: Bounds | None = attrs.field(default=None, metadata=member(Part(Bounds)))
    block: Bounds | None = attrs.field(default=None, metadata=member(Part(Bounds)))
    refused: Bounds = attrs.field(default=Bounds(at_most=0), metadata=member(Part(Bounds)))
    decisions: str | None = attrs.field(default=None, metadata=_TEXT)
    """A file with the decision on each line."""


@attrs.frozen(kw_only=True)
class Step:
    """Events that are sent, and the decision that each is expected to get."""

    send: Any = attrs.field(metadata=member(Anything()))
    """The name of an event of the file, or an event."""
    with_: Any = attrs.field(default=None, metadata=member(Anything()))
    """Members that replace those of the event, by their path."""
    times: int = attrs.field(default=1, metadata=member(Integer(1, MAX_TIMES)))
    every: str | None = attrs.field(default=None, metadata=_LENGTH)
    """The time between the events of the step."""
    after: str | None = attrs.field(default=None, metadata=_LENGTH)
    """The time between the event before and the first event of the step."""
    expect: Expectation | None = attrs.field(default=None, metadata=member(Part(Expectation)))


@attrs.frozen(kw_only=True)
class Test:
    """A test: steps, or a replay of recorded events."""

    __test__ = False  # for pytest, which takes a class of this name for a group of tests

    name: str = attrs.field(metadata=member(Text(minimum=1, maximum=1_000)))
    steps: tuple[Step, ...] | None = attrs.field(
        default=None, metadata=member(Many(Part(Step), minimum=1, maximum=MAX_STEPS))
    )
    replay: str | None = attrs.field(default=None, metadata=_TEXT)
    expect: ReplayExpectation | None = attrs.field(
        default=None, metadata=member(Part(ReplayExpectation))
    )


@attrs.frozen(kw_only=True)
class Document:
    """A file of tests."""

    definitions: str = attrs.field(metadata=_TEXT)
    start: str = attrs.field(default=DEFAULT_START, metadata=_LENGTH)
    events: Mapping[str, Any] = attrs.field(
        factory=dict, metadata=member(Map(Anything(), maximum=MAX_EVENTS))
    )
    tests: tuple[Test, ...] = attrs.field(
        metadata=member(Many(Part(Test), minimum=1, maximum=MAX_TESTS))
    )
