"""Static findings are never wrong: every event of a small world agrees with them."""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import Any

import pytest
from tests.generators.small_worlds import document, events

from tidegate.engine import Engine
from tidegate.policy.decision import EngineDecision
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.document import read_document

EVENTS = events()
SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
NEVER_FIRES = frozenset(("contradiction", "unreachable-clause", "window-out-of-reach"))


def decided(found: dict[str, Any], seed: int) -> list[tuple[dict[str, Any], EngineDecision]]:
    """The decisions on every event, each twice, in some order, a second after another."""
    order = [*EVENTS, *EVENTS]
    random.Random(seed).shuffle(order)
    # Drafts are decided, too, as they would be once they are active.
    policies = [{**each, "status": "active"} for each in found["policies"]]
    engine = Engine(found | {"policies": policies})
    return [
        (event, engine.decide(event, START + number * SECOND)) for number, event in enumerate(order)
    ]


def named(found: dict[str, Any], pointer: str) -> tuple[str, str]:
    """The policy and clause at a pointer."""
    parts = pointer.split("/")
    policy = found["policies"][int(parts[2])]
    number = int(parts[4]) if len(parts) > 4 else 0
    return policy["name"].replace(" ", "-"), policy["clauses"][number]["name"]


def check_finding(
    finding: Finding,
    found: dict[str, Any],
    decisions: list[tuple[dict[str, Any], EngineDecision]],
) -> None:
    """Fail if a decision contradicts a finding."""
    policy, clause = named(found, finding.pointer)
    whole = finding.pointer.endswith("/expression") and "/clauses/" not in finding.pointer
    for event, decision in decisions:
        fired = {(each.policy, each.clause) for each in decision.fired}
        if finding.code in NEVER_FIRES:
            is_met = (
                any(each[0] == policy for each in fired) if whole else (policy, clause) in fired
            )
            assert not is_met, (finding, event)
        elif finding.code == "shadowed-clause":
            assert (decision.policy, decision.clause) != (policy, clause), (finding, event)
        elif finding.code == "duplicate-clause":
            other = named(found, finding.second[0].pointer)
            assert ((policy, clause) not in fired) or other in fired, (finding, event)
        elif finding.code == "challenge-cannot-return":
            is_met = (policy, clause) in fired and event["request"]["method"] in ("GET", "HEAD")
            assert not is_met, (finding, event)


def check_seed(seed: int) -> Counter[str]:
    """Compare the findings of one generated document with its decisions."""
    found = document(seed)
    findings = read_document(found, lint="").findings
    of_clauses = [each for each in findings if each.code in CHECKED]
    if of_clauses:
        decisions = decided(found, seed)
        for each in of_clauses:
            check_finding(each, found, decisions)
    return Counter(each.code for each in of_clauses)


CHECKED = NEVER_FIRES | {"shadowed-clause", "duplicate-clause", "challenge-cannot-return"}


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_no_static_finding_is_contradicted_by_any_event(first: int) -> None:
    """A clause that is said never to fire, or never to answer, doesn't for any event."""
    total: Counter[str] = Counter()
    for seed in range(first, first + 50):
        total += check_seed(seed)
    assert total, "no findings were compared"


if __name__ == "__main__":
    counted: Counter[str] = Counter()
    for number in range(int(sys.argv[1])):
        counted += check_seed(number)
    print(dict(counted))
