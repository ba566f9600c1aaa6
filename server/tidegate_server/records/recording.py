"""Makes a test of a recorded decision, for ``tidegate record`` and the console alike.

Both read decisions in the form of the interface, one by calls and the other in the service.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tidegate.errors import TidegateError
from tidegate.functions.time import parse_moment
from tidegate.limits import CLOCK_TOLERANCE
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain.shown import escaped
from tidegate.testing.policies.reading import read_tests
from tidegate.testing.policies.recording import (
    Recorded,
    readers,
    redacted_members,
    text_of_test,
)
from tidegate.testing.policies.running import Runner
from tidegate.testing.policies.text import failure_text
from tidegate.values import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.model import Definitions

MAX_EVENTS = 1_000
"""Most events before the decision: each is a call, and a test with more can hardly be read."""
DAY_NS = 24 * 3_600 * NANOSECONDS
_MILLISECOND = 1_000_000


class NotRecordedError(TidegateError):
    """A decision cannot be made a test that means the same."""

    code = "not-recorded"


class Log(Protocol):
    """The recorded decisions of a tenant, in the form of the interface."""

    def read(self, decision_id: str) -> dict[str, Any]:
        """Return a decision in full."""

    def of_entity(self, entity_id: str, since: int, until: int) -> list[dict[str, Any]]:
        """Return the id and time of an entity's decisions, newest first.

        Args:
            entity_id: the entity.
            since: when the oldest was received, in nanoseconds since 1970.
            until: before this time.
        """

    def kept_since(self) -> int:
        """Return the time before which decisions may be deleted, in nanoseconds since 1970."""


def test_of(
    log: Log, decision: dict[str, Any], source: Definitions, definitions: str, path: Path
) -> str:
    """Return the text of a test of a recorded decision, with the events that its windows needed.

    The test was run, and came to the same decision.

    Args:
        log: the recorded decisions.
        decision: the decision, in the form of the interface.
        source: the definitions under test.
        definitions: their file, relative to the file of the test.
        path: the file of the test, which is named where it fails.

    Raises:
        NotRecordedError: no test means the same.
    """
    proof = decision["proof"]
    if proof is not None and proof["status"] in ("valid", "revoked"):
        raise NotRecordedError(
            f"the event shows a proof of a challenge, which was {proof['status']}, and a test has"
            " no keys to read it"
        )
    compiled = compile_definitions(source)
    horizon = _horizon(decision, compiled)
    events = [*_before(log, decision, horizon), _recorded(decision)]
    notes = [
        f"Recorded from decision {decision['decision_id']}.",
        *_redacted(compiled, events),
    ]
    text = text_of_test(_name(decision), definitions, events, _expected(decision), notes)
    (case,) = read_tests(text, path).cases
    result = Runner(source).run(case)
    if result.failure is not None:
        reasons = "".join(_reasons(log, decision, source, horizon))
        raise NotRecordedError(
            f"the test would not come to the same decision{reasons}\n"
            + failure_text(result, result.failure)
        )
    return text


def _reasons(
    log: Log, decision: dict[str, Any], source: Definitions, horizon: int
) -> Iterator[str]:
    """Yield the known reasons why a test fails."""
    revision = decision["revision"]
    if revision != source.revision:
        yield f"; it was made by revision {revision} of the definitions"
    if horizon and _time(decision["observed_at"]) - horizon < log.kept_since():
        yield "; events before it may have been deleted by retention"


def _before(log: Log, decision: dict[str, Any], horizon: int) -> Iterator[Recorded]:
    """The events before a decision that its windows and mitigations may depend on, in order."""
    found: dict[str, Any] = {}
    for entity in _entities(decision):
        found |= {each["decision_id"]: each for each in _of_entity(log, decision, entity, horizon)}
        if len(found) > MAX_EVENTS:
            raise NotRecordedError(
                f"its entities have more than {MAX_EVENTS:,} events within the widest window"
            )
    for each in sorted(found.values(), key=lambda each: (each["received_at"], each["decision_id"])):
        yield _recorded(log.read(each["decision_id"]))


def _entities(decision: dict[str, Any]) -> list[str]:
    """The entities of the clauses that fired; if none did, all entities of the event."""
    fired = [each["entity_id"] for each in decision["fired_clauses"] if each["entity_id"]]
    if decision["fired_clauses"]:
        return list(dict.fromkeys(fired))
    return [each["entity_id"] for each in decision["entities"]]


def _horizon(decision: dict[str, Any], compiled: CompiledDefinitions) -> int:
    """How far back events matter, in nanoseconds: the widest window, and an earlier mitigation."""
    clauses = [each for policy in compiled.policies for each in policy.clauses]
    windows = [each.window.duration for each in clauses if each.window is not None]
    ttls = [each.ttl_seconds * NANOSECONDS for each in compiled.mitigations]
    is_active = any(each["active"] for each in decision["fired_clauses"])
    return max(windows, default=0) + (max(ttls, default=0) if is_active else 0)


def _of_entity(
    log: Log, decision: dict[str, Any], entity: str, horizon: int
) -> list[dict[str, Any]]:
    """An entity's decisions before one, as a search shows them."""
    since = _time(decision["observed_at"]) - horizon - CLOCK_TOLERANCE
    until = _time(decision["received_at"]) + _MILLISECOND
    found = log.of_entity(entity, max(since, 0), until)
    ids = [each["decision_id"] for each in found]
    at = ids.index(decision["decision_id"]) if decision["decision_id"] in ids else -1
    return found[at + 1 :]


def _recorded(decision: dict[str, Any]) -> Recorded:
    received_at, counted_at = _time(decision["received_at"]), _time(decision["observed_at"])
    return Recorded(decision["event"], received_at, counted_at)


def _time(text: str) -> int:
    return parse_moment(text).nanoseconds


def _name(decision: dict[str, Any]) -> str:
    by = f" by {decision['policy']} / {decision['clause']}" if decision["policy"] else ""
    return f"decision {decision['decision_id']}: {decision['action']['type']}{by}"


def _expected(decision: dict[str, Any]) -> dict[str, Any]:
    """The answer; of a decision that only monitors, the clauses that fired."""
    members = {"action": decision["action"]["type"], "reason": decision["reason"]}
    if decision["policy"] is not None:
        return members | {"policy": decision["policy"], "clause": decision["clause"]}
    fired = [
        {"policy": each["policy"], "clause": each["clause"]} for each in decision["fired_clauses"]
    ]
    return members | {"fired": fired}


def _redacted(compiled: CompiledDefinitions, events: Sequence[Recorded]) -> Iterator[str]:
    """Comments about redacted members.

    Raises:
        NotRecordedError: a decision may depend on the value of one.
    """
    paths = dict.fromkeys(path for each in events for path in redacted_members(each.event))
    for path in paths:
        found = readers(compiled, path)
        if found:
            name = escaped(".".join(path))
            raise NotRecordedError(
                f"`{name}` is redacted in the records, and `{found[0]}` reads it: the test could"
                " not mean the same"
            )
    if paths:
        yield (
            "Redacted in the records, so hashes stand for the values; no decision depends on more"
            " than their equality:"
        )
        yield from (f"  {'.'.join(path)}" for path in paths)
