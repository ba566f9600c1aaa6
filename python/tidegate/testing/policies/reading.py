"""Reads files of policy tests; every finding has its position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EvaluationError
from tidegate.event_form import REQUEST_MAPS, no_such_member, unknown_member
from tidegate.functions.time import parse_duration, parse_timestamp
from tidegate.language.tree.diagnostics import Source, nearest, quote
from tidegate.policy.decide import LATEST
from tidegate.policy.definitions.findings import Finding, SecondPlace, pointer_to, refuse
from tidegate.policy.document.models import parse_model
from tidegate.policy.document.positions import locate
from tidegate.policy.document.reader import read_model
from tidegate.policy.document.tree import MAX_BYTES, Node, Scalar, Sequence, find
from tidegate.policy.document.tree import Mapping as MappingNode
from tidegate.testing.policies.model import (
    API_VERSION,
    Bounds,
    Document,
    Expectation,
    ReplayExpectation,
    Test,
)

if TYPE_CHECKING:
    from tidegate.testing.policies.model import Step

_FREE = frozenset({"send", "with", "events"})
"""Members with parts of events, in which a value may be null."""


@attrs.frozen
class Send:
    """A step, ready to run.

    Attributes:
        line: its line in the file.
        event: the event.
        times: how often it is sent.
        every: nanoseconds between its events.
        after: nanoseconds between the event before it and its first.
        expect: the expected decision on each; None if any will do.
    """

    line: int
    event: Mapping[str, Any]
    times: int
    every: int
    after: int
    expect: Expectation | None


@attrs.frozen
class Replay:
    """A replay, ready to run.

    Attributes:
        line: its line in the file.
        events: the file with the events.
        expect: the expected decisions.
        decisions: the file with the expected decision on each line.
    """

    line: int
    events: Path
    expect: ReplayExpectation
    decisions: Path | None


@attrs.frozen
class Case:
    """One test, ready to run.

    Attributes:
        file: the file of the test, as it was named.
        line: its line in the file.
        name: its name.
        start: the time at which it begins, in nanoseconds since 1970.
        steps: the steps; empty for a replay.
        replay: the replay; None for steps.
    """

    file: Path
    line: int
    name: str
    start: int
    steps: tuple[Send, ...]
    replay: Replay | None

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class TestFile:
    """A file of tests, read.

    Attributes:
        path: the file, as it was named.
        definitions: the file with the definitions under test.
        cases: the tests.
    """

    __test__ = False  # for pytest, which takes a class of this name for a group of tests

    path: Path
    definitions: Path
    cases: tuple[Case, ...]

    @property
    def files(self) -> frozenset[Path]:
        """Every file that its results depend on."""
        replays = [each.replay for each in self.cases if each.replay is not None]
        read = [self.path, self.definitions, *(each.events for each in replays)]
        return frozenset([*read, *(each.decisions for each in replays if each.decisions)])


def load_tests(path: Path) -> TestFile:
    """The tests in a file.

    Raises:
        DefinitionsError: the file is rejected; ``diagnostics`` has every finding.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return read_tests(file.read(MAX_BYTES + 1), path)


def read_tests(text: str | bytes, path: Path) -> TestFile:
    """The tests in a text.

    Args:
        text: YAML; bytes are UTF-8.
        path: the file's name; other files are relative to its folder.

    Raises:
        DefinitionsError: the text is rejected; ``diagnostics`` has every finding.
    """
    root, source = parse_model(text, Document)
    document, findings = read_model(root, source.text, Document, API_VERSION)
    findings += _nulls(root, "")
    if document is None or findings:
        raise refuse(locate(findings, root, source))
    reader = _Reader(document, root, source, path)
    cases = tuple(reader.cases())
    if reader.findings:
        raise refuse(locate(reader.findings, root, source))
    return TestFile(path, path.parent / document.definitions, cases)


def _nulls(node: Node, pointer: str) -> Iterator[Finding]:
    """A member that is left empty would expect nothing, where its author expects "none"."""
    match node:
        case MappingNode(entries=entries):
            for key, value in entries:
                place = pointer_to(pointer, str(key.value))
                if isinstance(value, Scalar) and value.value is None:
                    message = f"{quote(str(key.value))} has no value"
                    hint = "leave it out; `reason: no-match` says that no policy answered"
                    yield Finding("missing-value", message, place, hint=hint, offset=key.start)
                elif key.value not in _FREE:
                    yield from _nulls(value, place)
        case Sequence(items=items):
            for at, each in enumerate(items):
                yield from _nulls(each, pointer_to(pointer, at))


class _Reader:
    """Makes tests ready to run, and collects findings."""

    def __init__(self, document: Document, root: Node, source: Source, path: Path) -> None:
        self._document = document
        self._root = root
        self._source = source
        self._path = path
        self.findings: list[Finding] = []

    def cases(self) -> Iterator[Case]:
        start = self._start()
        for name, event in self._document.events.items():
            if not isinstance(event, Mapping):
                place = pointer_to("/events", name)
                self._report("wrong-type", "expected an event, which is an object", place)
        first: dict[str, int] = {}
        for number, test in enumerate(self._document.tests):
            pointer = f"/tests/{number}"
            if first.setdefault(test.name, number) != number:
                second = SecondPlace("first given here", f"/tests/{first[test.name]}/name")
                message = f"{quote(test.name)} is the name of two tests"
                self._report("duplicate-test", message, f"{pointer}/name", second=(second,))
            yield self._case(test, pointer, start)

    def _start(self) -> int:
        hint = "write a time such as `2026-03-02T10:00:00Z`"
        try:
            start = parse_timestamp(self._document.start).nanoseconds
        except EvaluationError as error:
            self._report("invalid-time", error.message, "/start", hint=hint)
            return 0
        if not 0 <= start <= LATEST:
            self._report("invalid-time", "the time is out of range", "/start", hint=hint)
        return start

    def _case(self, test: Test, pointer: str, start: int) -> Case:
        steps = tuple(
            self._step(step, f"{pointer}/steps/{number}")
            for number, step in enumerate(test.steps or ())
        )
        if (test.steps is None) == (test.replay is None):
            self._report("wrong-test", "a test has either `steps` or `replay`", pointer)
        elif test.steps is not None and test.expect is not None:
            message = "`expect` belongs to a step, or to a replay"
            self._report("wrong-test", message, f"{pointer}/expect")
        elif test.expect is None and not any(each.expect for each in steps):
            self._report("nothing-expected", "this test has no `expect`", pointer)
        elif test.expect is not None:
            self._replay_expectation(test.expect, f"{pointer}/expect")
        length = sum(each.after + each.every * (each.times - 1) for each in steps)
        if start + length > LATEST:
            self._report("invalid-time", "the test ends out of the range of times", pointer)
        line = self._line(pointer)
        return Case(self._path, line, test.name, start, steps, self._replay(test, line))

    def _replay(self, test: Test, line: int) -> Replay | None:
        if test.replay is None or test.expect is None:
            return None
        folder, decisions = self._path.parent, test.expect.decisions
        return Replay(
            line, folder / test.replay, test.expect, folder / decisions if decisions else None
        )

    def _replay_expectation(self, expect: ReplayExpectation, pointer: str) -> None:
        if expect == ReplayExpectation():
            self._report("nothing-expected", "this expects nothing", pointer)
        for kind in ("allow", "challenge", "block", "refused"):
            if getattr(expect, kind) == Bounds():
                self._report("nothing-expected", "this has no bounds", f"{pointer}/{kind}")

    def _step_expectation(self, expect: Expectation, pointer: str) -> None:
        if expect == Expectation():
            self._report("nothing-expected", "this expects nothing", pointer)
        elif expect.refused is not None and expect != Expectation(refused=expect.refused):
            message = "an event that is refused has no decision to expect anything of"
            self._report("wrong-test", message, f"{pointer}/refused")

    def _step(self, step: Step, pointer: str) -> Send:
        every = self._length(step.every, pointer, "every")
        after = self._length(step.after, pointer, "after")
        if step.every is not None and step.times == 1:
            message = "`every` is the time between the events of a step, and this one has one event"
            hint = "`after` is the time between the step before and this one"
            self._report("needless-every", message, f"{pointer}/every", hint=hint)
        if step.expect is not None:
            self._step_expectation(step.expect, f"{pointer}/expect")
        return Send(
            self._line(pointer), self._event(step, pointer), step.times, every, after, step.expect
        )

    def _length(self, text: str | None, pointer: str, name: str) -> int:
        if text is None:
            return 0
        try:
            length = parse_duration(text).nanoseconds
        except EvaluationError as error:
            hint = "write a length of time such as `2s`, `15m` or `1h30m`"
            self._report("invalid-duration", error.message, f"{pointer}/{name}", hint=hint)
            return 0
        if length < 0:
            self._report("invalid-duration", "time doesn't go back", f"{pointer}/{name}")
        return length

    def _event(self, step: Step, pointer: str) -> Mapping[str, Any]:
        event: object = step.send
        events = self._document.events
        if isinstance(event, str) and event in events:
            event = events[event]
        elif isinstance(event, str):
            meant = nearest(event, events)
            hint = f"did you mean `{meant}`?" if meant else "it is a name in `events`, or an event"
            self._report("unknown-event", f"unknown event {quote(event)}", f"{pointer}/send", hint)
        if not isinstance(event, Mapping):
            if not isinstance(event, str):
                message = "expected the name of an event, or an event"
                self._report("wrong-type", message, f"{pointer}/send")
            return {}
        if not isinstance(step.with_, Mapping | None):
            message = "expected an object of paths and values"
            self._report("wrong-type", message, f"{pointer}/with")
            return event
        for path, value in (step.with_ or {}).items():
            event = self._replaced(event, path, value, pointer_to(f"{pointer}/with", path))
        unknown = unknown_member(event)
        if unknown is not None and (step.expect is None or step.expect.refused is None):
            message = no_such_member(unknown).message
            self._report("unknown-member", message, _written_at(step, unknown, pointer))
        return event

    def _replaced(
        self, event: Mapping[str, Any], path: str, value: Any, pointer: str
    ) -> Mapping[str, Any]:
        """An event with another value at a path."""
        names = _names_of(path)
        if names[0] in ("request", "fields") and len(names) == 1:
            hint = f"write the path of one member, such as `{names[0]}.…`"
            self._report("wrong-path", f"this replaces all of `{names[0]}`", pointer, hint)
            return event
        return _with(event, names, value)

    def _line(self, pointer: str) -> int:
        node = find(self._root, pointer)
        return self._source.position(node.start or 0).line if node is not None else 1

    def _report(
        self,
        code: str,
        message: str,
        pointer: str,
        hint: str | None = None,
        second: tuple[SecondPlace, ...] = (),
    ) -> None:
        self.findings.append(Finding(code, message, pointer, hint=hint, second=second))


def _written_at(step: Step, member: tuple[str, ...], pointer: str) -> str:
    """The pointer of the place that gives a step's event a member."""
    dotted = ".".join(member)
    for path in step.with_ or ():
        if path == dotted or path.startswith(f"{dotted}."):
            return pointer_to(f"{pointer}/with", path)
    event = pointer_to("/events", step.send) if isinstance(step.send, str) else f"{pointer}/send"
    return reduce(pointer_to, member, event)


def _names_of(path: str) -> tuple[str, ...]:
    """The names on a path; a name of a header or field may have dots."""
    first, _, rest = path.partition(".")
    if not rest:
        return (first,)
    if first != "request":
        return (first, rest)
    member, _, name = rest.partition(".")
    return (first, member, name) if name and member in REQUEST_MAPS else (first, rest)


def _with(event: Mapping[str, Any], names: tuple[str, ...], value: Any) -> Mapping[str, Any]:
    first, *rest = names
    if rest:
        inner = event.get(first)
        value = _with(inner if isinstance(inner, Mapping) else {}, tuple(rest), value)
    return {**event, first: value}
