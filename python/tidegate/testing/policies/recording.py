"""Makes a policy test of a recorded decision and the events before it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EvaluationError
from tidegate.functions.time import duration_text, parse_moment, timestamp_text
from tidegate.language.tree import checked
from tidegate.policy.definitions.reads import reads
from tidegate.policy.document.yaml_text import write_yaml
from tidegate.policy.explain.shown import escaped
from tidegate.testing.policies.model import API_VERSION
from tidegate.values import Duration, Timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.definitions.compiled import CompiledDefinitions

HASH = "hmac:"
"""The beginning of a redacted value (docs/fields.md)."""
_MILLISECOND = 1_000_000
_WITHOUT = ("idempotency_key", "tenant_id")
"""Members of an event that no decision depends on."""


@attrs.frozen
class Recorded:
    """A recorded event.

    Attributes:
        event: the event, secrets as hashes.
        received_at: when it was received, in nanoseconds since 1970.
        counted_at: the time it counted at, to the millisecond.
    """

    event: Mapping[str, Any]
    received_at: int
    counted_at: int

    @property
    def exact(self) -> int:
        """The time it counted at, as exactly as its own time says."""
        try:
            observed_at = parse_moment(self.event["observed_at"]).nanoseconds
        except (KeyError, TypeError, EvaluationError):
            return self.counted_at
        is_same = observed_at // _MILLISECOND == self.counted_at // _MILLISECOND
        return observed_at if is_same else self.counted_at


def redacted_members(event: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The paths of the members of an event with a hash in place of a secret."""
    return _redacted(event, ())


def _redacted(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match value:
        case Mapping():
            for name, member in value.items():
                yield from _redacted(member, (*path, str(name)))
        case list():
            for member in value:
                yield from _redacted(member, path)
        case str() if HASH in value:
            yield path


def readers(compiled: CompiledDefinitions, path: tuple[str, ...]) -> list[str]:
    """The places of the expressions whose result may depend on the value at a path.

    A part of a key, and the field of a window, that are the value itself don't count: hashes are
    equal where the values are.

    Args:
        compiled: the definitions.
        path: the path of a redacted member.
    """
    return [
        place
        for place, expression, is_identity in _placed(compiled)
        if not (is_identity and _is_member(expression.root))
        and any(_overlap(each.path, path) for each in reads(expression.root))
    ]


def _placed(compiled: CompiledDefinitions) -> Iterator[tuple[str, CheckedExpression, bool]]:
    """Every expression with its place, and whether only equality of its value matters."""
    for action in compiled.actions:
        yield f"actions.{action.slug}.expression", action.expression, False
    for entity in compiled.entities:
        if entity.match is not None:
            yield f"entities.{entity.slug}.match_expression", entity.match, False
        for number, field in enumerate(entity.key_fields):
            yield f"entities.{entity.slug}.key_fields[{number}]", field, True
    yield from ((each.place, each.expression, False) for each in compiled.headers())
    for policy in compiled.policies:
        for place, expression in policy.placed:
            yield place, expression, place.endswith(".window.field")


def _is_member(node: checked.Checked) -> bool:
    return isinstance(node, checked.Field | checked.Select | checked.Index)


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one path leads to the other."""
    return all(first == second for first, second in zip(one, other, strict=False))


def text_of_test(
    name: str,
    definitions: str,
    events: Sequence[Recorded],
    expect: Mapping[str, Any],
    notes: Iterable[str],
) -> str:
    """The text of a file with one test.

    Args:
        name: the name of the test.
        definitions: the file of the definitions, relative to the test file.
        events: the events in the order of their decisions; the last is the one under test.
        expect: the expected decision on the last.
        notes: lines of comments at the top.
    """
    times = [each.exact for each in events]
    is_ordered = all(before <= after for before, after in pairwise(times))
    if not is_ordered:
        times = [each.received_at for each in events]
    without = (*_WITHOUT, "observed_at") if is_ordered else _WITHOUT
    sent = [
        {key: value for key, value in each.event.items() if key not in without} for each in events
    ]
    distinct: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    for event, length in zip(sent, [0, *(b - a for a, b in pairwise(times))], strict=True):
        if event not in distinct:
            distinct.append(event)
        step: dict[str, Any] = {"send": f"event-{distinct.index(event) + 1}"}
        if length:
            step["after"] = duration_text(Duration(max(length, 0)))
        steps.append(step)
    steps[-1]["expect"] = dict(expect)
    document = {
        "apiVersion": API_VERSION,
        "definitions": definitions,
        "start": timestamp_text(Timestamp(times[0])),
        "events": {f"event-{number}": event for number, event in enumerate(distinct, 1)},
        "tests": [{"name": name, "steps": steps}],
    }
    # The visitor chose the names in them.
    return "".join(f"# {escaped(each)}\n" for each in notes) + write_yaml(document)
