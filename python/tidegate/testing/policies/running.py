"""Runs policy tests with the shipped engine; the time is that of the test."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs
import orjson

from tidegate.engine import Engine
from tidegate.errors import EvaluationError, EventError, TidegateError
from tidegate.functions.time import parse_moment
from tidegate.packed import UNREADABLE, unpacked
from tidegate.policy.explain.shown import show_time
from tidegate.testing.policies.comparing import Difference, compare, compare_count, summary_of
from tidegate.testing.policies.model import Bounds, Expectation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tidegate.engine import EventForm
    from tidegate.evaluation.rules import Evaluator
    from tidegate.policy.definitions.model import Definitions
    from tidegate.policy.explain.explain import Explanation
    from tidegate.testing.policies.comparing import Outcome
    from tidegate.testing.policies.reading import Case, Replay, Send

EVALUATORS: tuple[Evaluator, ...] = ("native", "reference")
KINDS = ("allow", "challenge", "block", "refused")
"""Kinds of outcomes, as replays count them."""
MAX_DIFFERENCES = 20
"""Most differences of a whole replay that are reported."""

Event: TypeAlias = "Mapping[str, Any] | bytes"


class TestsError(TidegateError):
    """A test cannot run: a file that it needs is missing or cannot be read."""

    code = "tests-cannot-run"
    __test__ = False  # for pytest


@attrs.frozen
class Sent:
    """An event on its way to the engine.

    Attributes:
        place: where it comes from, in words.
        line: the line of the test file.
        event: the event.
        at: when it arrives, in nanoseconds since 1970.
        send: the step; None for an event of a replay.
        number: the line of an event of a replay.
    """

    place: str
    line: int
    event: Event
    at: int
    send: Send | None
    number: int = 0


@attrs.frozen
class Failure:
    """The first decision of a test that isn't as expected.

    Attributes:
        line: the line of the test file.
        place: the step, and the event of it.
        time: the time of the event; None if the whole replay is meant.
        evaluator: the evaluator that decided.
        differences: what was expected, and what came instead.
        explanation: why the decision was made; None without a single one.
    """

    line: int
    place: str
    time: str | None
    evaluator: Evaluator
    differences: tuple[Difference, ...]
    explanation: Explanation | None


@attrs.frozen
class Result:
    """The result of one test.

    Attributes:
        case: the test.
        events: how many events were decided.
        seconds: how long it took.
        failure: why it failed; None if it passed.
        decisions: of a replay, the decision on each line, as a file of expected decisions has it.
    """

    case: Case
    events: int
    seconds: float
    failure: Failure | None
    decisions: bytes | None = None

    @property
    def has_passed(self) -> bool:
        return self.failure is None


class Runner:
    """Runs tests of the same definitions.

    Args:
        definitions: the definitions under test.
        evaluators: the evaluators that decide; all of them must agree.
    """

    def __init__(
        self, definitions: Definitions, evaluators: Sequence[Evaluator] = EVALUATORS
    ) -> None:
        self.evaluators = tuple(evaluators)
        self._engines = {each: Engine(definitions, each, clock=lambda: 0) for each in evaluators}
        self._empty = {name: engine.snapshot() for name, engine in self._engines.items()}

    def run(self, case: Case) -> Result:
        """Run a test from an empty state.

        Raises:
            TestsError: a file that the test needs cannot be read.
        """
        started = time.perf_counter()
        self._forget()
        found = (
            _run_steps(self, case) if case.replay is None else _run_replay(self, case, case.replay)
        )
        return attrs.evolve(found, seconds=time.perf_counter() - started)

    def outcomes(self, sent: Sent) -> dict[Evaluator, Outcome]:
        """The outcome of an event by each evaluator."""
        found: dict[Evaluator, Outcome] = {}
        ended_at: tuple[str, ...] | None = None
        for name, engine in self._engines.items():
            try:
                decision = engine.decide(cast("EventForm", sent.event), sent.at, ended_at=ended_at)
                # Only the native evaluator counts the budget, and it is the first.
                ended_at = decision.budget_ended_at
                found[name] = decision
            except EventError as error:
                found[name] = error
        return found

    def explain(self, case: Case, wanted: Sent) -> Explanation | None:
        """Explain the decision on an event of a test; None if the event is refused."""
        self._forget()
        for sent in events_of(case):
            if (sent.place, sent.at) == (wanted.place, wanted.at):
                break
            self.outcomes(sent)
        try:
            event = cast("EventForm", wanted.event)
            return next(iter(self._engines.values())).explain(event, wanted.at)
        except EventError:
            return None

    def _forget(self) -> None:
        for name, engine in self._engines.items():
            engine.load_state(self._empty[name])


def events_of(case: Case) -> Iterator[Sent]:
    """The events of a test, in order.

    Raises:
        TestsError: the events of a replay cannot be read.
    """
    if case.replay is not None:
        yield from _replayed(case, case.replay)
        return
    at = case.start
    for number, step in enumerate(case.steps, 1):
        at += step.after
        for sent in range(1, step.times + 1):
            of = f", event {sent} of {step.times}" if step.times > 1 else ""
            yield Sent(f"step {number}{of}", step.line, step.event, at, step)
            at += step.every if sent < step.times else 0


def _replayed(case: Case, replay: Replay) -> Iterator[Sent]:
    at = case.start
    for number, line in enumerate(_lines(replay.events), 1):
        if line.isspace():
            continue
        at = _time_of(line, at)
        yield Sent(f"{replay.events.name}, line {number}", replay.line, line, at, None, number)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from unpacked(file)
    except UNREADABLE as error:
        raise TestsError(f"`{path}` cannot be read: {error}") from None


def _time_of(line: bytes, before: int) -> int:
    """The time at which a recorded event arrives: its own, or that of the event before it."""
    try:
        return max(before, parse_moment(orjson.loads(line)["observed_at"]).nanoseconds)
    except (ValueError, TypeError, KeyError, AttributeError, EvaluationError):
        return before


def _run_steps(runner: Runner, case: Case) -> Result:
    events = 0
    for sent in events_of(case):
        events += 1
        expect = (sent.send.expect if sent.send else None) or Expectation()
        failure = _failure(sent, runner.outcomes(sent), partial(compare, expect))
        if failure is not None:
            explained = attrs.evolve(failure, explanation=runner.explain(case, sent))
            return Result(case, events, 0.0, explained)
    return Result(case, events, 0.0, None)


def _run_replay(runner: Runner, case: Case, replay: Replay) -> Result:
    expected = _expected(replay)
    bounds = {each: getattr(replay.expect, each) or Bounds() for each in KINDS}
    counts = Counter(dict.fromkeys(KINDS, 0))
    lines: list[bytes] = []
    first: tuple[Failure, Sent] | None = None
    seen: set[int] = set()

    def differences(outcome: Outcome) -> list[Difference]:
        kind = _kind(outcome)
        too_many = compare_count(kind, attrs.evolve(bounds[kind], at_least=0), counts[kind])
        return [*too_many, *_changes(summary_of(outcome), expected, sent.number)]

    for sent in events_of(case):
        outcomes = runner.outcomes(sent)
        outcome = next(iter(outcomes.values()))
        counts[_kind(outcome)] += 1
        seen.add(sent.number)
        lines.append(orjson.dumps({"line": sent.number, **summary_of(outcome)}) + b"\n")
        failure = _failure(sent, outcomes, differences)
        if failure is not None and first is None:
            first = failure, sent
    made = Result(case, len(lines), 0.0, None, b"".join(lines))
    if first is not None:
        explanation = runner.explain(case, first[1])
        return attrs.evolve(made, failure=attrs.evolve(first[0], explanation=explanation))
    left = [each for kind in KINDS for each in compare_count(kind, bounds[kind], counts[kind])]
    left += [Difference("events", "at least 1", 0)] if not lines else []
    left += [
        Difference(f"line {number}", each, None)
        for number, each in (expected or {}).items()
        if number not in seen
    ]
    if left:
        place = f"{replay.events.name}, all lines"
        shown = tuple(left[:MAX_DIFFERENCES])
        failure = Failure(replay.line, place, None, next(iter(runner.evaluators)), shown, None)
        return attrs.evolve(made, failure=failure)
    return made


def _kind(outcome: Outcome) -> str:
    return "refused" if isinstance(outcome, EventError) else outcome.action.type


def _changes(
    got: Mapping[str, Any], expected: dict[int, dict[str, Any]] | None, number: int
) -> list[Difference]:
    """The members in which a decision differs from the one that a file has for its line."""
    if expected is None:
        return []
    wanted = expected.get(number, {})
    return [
        Difference(name, wanted.get(name), got.get(name))
        for name in {**wanted, **got}
        if wanted.get(name) != got.get(name)
    ]


def _failure(
    sent: Sent,
    outcomes: Mapping[Evaluator, Outcome],
    differences: Callable[[Outcome], list[Difference]],
) -> Failure | None:
    """The first difference of an event's outcomes from the expected one, or from each other."""
    for name, outcome in outcomes.items():
        if found := differences(outcome):
            return Failure(sent.line, sent.place, show_time(sent.at), name, tuple(found), None)
    (_, first), *others = outcomes.items()
    for name, outcome in others:
        if isinstance(first, EventError) and isinstance(outcome, EventError):
            continue
        if first != outcome:
            differ = Difference("decision", _whole(first), _whole(outcome))
            return Failure(sent.line, sent.place, show_time(sent.at), name, (differ,), None)
    return None


def _whole(outcome: Outcome) -> Any:
    return str(outcome) if isinstance(outcome, EventError) else outcome.to_record()


def _expected(replay: Replay) -> dict[int, dict[str, Any]] | None:
    """The decision that is expected on each line, by its number."""
    if replay.decisions is None:
        return None
    found = {}
    for line in _lines(replay.decisions):
        try:
            decision = orjson.loads(line)
            found[decision.pop("line")] = decision
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise TestsError(f"`{replay.decisions}` isn't a file of decisions: {error}") from None
    return found
