"""Warnings about challenges that would fail, based on recent records.

A policy is tried on recent events of its tenant, as if it decided alone and every window had
reached its threshold. The work is bounded, and done where definitions are compiled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from tidegate.engine import Engine
from tidegate.errors import DefinitionsError, EventError
from tidegate.policy.callers import KINDS, MACHINES, Request, kind_of
from tidegate.policy.definitions.findings import Finding
from tidegate_server.challenge.public_url import unreachable
from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log import decisions, log
from tidegate_server.stores.decision_log.lines import read_event
from tidegate_server.wire.kinds import LIST, POLICY

if TYPE_CHECKING:
    from tidegate.policy.definitions.model import Clause, Definitions, NamedList, Policy
    from tidegate_server.control.call import Call
    from tidegate_server.engines.definition_set import Checked, DefinitionSet
    from tidegate_server.stores.decision_log.lines import LoggedDecision, LogLine
    from tidegate_server.wire.kinds import DefinitionKind

CANNOT_ANSWER = "challenge-not-answerable"
NO_PUBLIC_URL = "challenge-not-reachable"
"""Codes of the warnings."""
RECENT = 300
"""How many of the newest decisions are tried, and of the newest in which the policy fired."""
MAX_EXAMINED = 20_000
"""How many decisions are searched for those in which the policy fired."""
POLICIES = 20
"""How many policies of one change are tried."""
MAX_OTHERS = 500
"""Above this many actions and entity definitions, nothing is tried, since all are compiled."""
SAMPLES = 3
_PATH = 80
"""The most characters of a sample's path."""


def warnings_of(
    call: Call, kind: DefinitionKind, present: DefinitionSet, checked: Checked
) -> tuple[Finding, ...]:
    """Return all warnings about an object to be saved; for a policy, those of this file too."""
    model = checked.model
    if kind is not POLICY or not model.enabled or model.status == "retired":
        return checked.warnings
    definitions = attrs.evolve(checked.definitions, lists=_whole_lists(present, checked))
    found = challenge_warnings(call, definitions, {model.policy_id})
    return (*checked.warnings, *(finding for _, finding in found))


def _whole_lists(present: DefinitionSet, checked: Checked) -> tuple[NamedList, ...]:
    """Return the lists with their entries, which a check omits."""
    found = present.active.find if present.active is not None else None
    known = {
        str(each.object_id): ready.model
        for each in present.objects[LIST.section]
        if found is not None and (ready := found(each)) is not None
    }
    return tuple(known.get(each.list_id, each) for each in checked.definitions.lists)


def challenge_warnings(
    call: Call, definitions: Definitions, policy_ids: Collection[str]
) -> list[tuple[str, Finding]]:
    """Return warnings about policies that challenge, by policy id.

    Args:
        definitions: the whole set, with the policies to be saved.
        policy_ids: the ids of the policies in the change.
    """
    challenges = _challenges(definitions)
    challenging = [
        trial
        for each in definitions.policies
        if each.policy_id in policy_ids and (trial := _on_trial(each, challenges)) is not None
    ]
    reason = unreachable(call.app.base_url()) if challenging else None
    found = [(each.policy_id, _not_reachable(reason)) for each in challenging if reason is not None]
    if not challenging or len(definitions.actions) + len(definitions.entities) > MAX_OTHERS:
        return found
    tried = attrs.evolve(definitions, policies=tuple(challenging[:POLICIES]))
    return [*found, *_tried(call, tried)]


def _not_reachable(reason: str) -> Finding:
    return Finding(
        NO_PUBLIC_URL,
        f"visitors cannot be sent to the address of the service: {reason}",
        "",
        severity="warning",
        hint="set `server.public_url` to the https address that visitors' browsers reach",
    )


def _challenges(definitions: Definitions) -> frozenset[str]:
    """Return slugs of the mitigations that challenge."""
    return frozenset(
        each.slug for each in definitions.mitigations if each.enabled and each.mode == "Challenge"
    )


def _on_trial(policy: Policy, challenges: Collection[str]) -> Policy | None:
    """Return a policy with only its challenges, which all fire at once; None if it has none."""
    kept: list[Clause] = [
        attrs.evolve(each, window=None, final=False)
        for each in policy.clauses
        if each.mitigation in challenges
    ]
    if not kept:
        return None
    return attrs.evolve(policy, clauses=tuple(kept), enabled=True, status="active")


def _tried(call: Call, definitions: Definitions) -> Iterator[tuple[str, Finding]]:
    """Yield warnings about the effect of policies on trial on recent events."""
    machines = next((each.entries for each in definitions.lists if each.slug == MACHINES), ())
    ids = {each.slug: each.policy_id for each in definitions.policies}
    matched: dict[str, int] = defaultdict(int)
    samples: dict[tuple[str, str], list[str]] = defaultdict(list)
    try:
        key = call.app.keys.redaction_of(call.tenant_id)
        engine = Engine(definitions, redaction_key=key, events="any")
        recent = _recent(call, [*ids.values()])
    except (DefinitionsError, DamagedLogError):
        return  # other checks report their errors
    for each in recent:
        try:
            fired = engine.decide(each.event, each.received_at_ns).fired
        except EventError:
            continue
        request = Request.of(read_event(each.event).get("request") or {})
        kind = kind_of(request, machines)
        for slug in {clause.policy for clause in fired if not clause.active}:
            matched[slug] += 1
            if kind is not None:
                shown = f"`{request.method} {request.path[:_PATH]}`"
                samples[slug, kind].append(f"{shown} (decision {each.decision_id})")
    for (slug, kind), found in sorted(samples.items(), key=lambda item: KINDS.index(item[0][1])):
        yield ids[slug], _cannot_answer(kind, found, matched[slug])


def _cannot_answer(kind: str, found: Sequence[str], matched: int) -> Finding:
    return Finding(
        CANNOT_ANSWER,
        f"of {matched} recent requests that the policy would challenge, {len(found)} are of callers"
        f" that cannot answer: {kind}, such as {', '.join(list(dict.fromkeys(found))[:SAMPLES])}",
        "/clauses",
        severity="warning",
        hint="leave them out with the policy's expression, or use Monitor until it is known who"
        " they are",
    )


def _recent(call: Call, policy_ids: Sequence[str]) -> list[LoggedDecision]:
    """Return the newest decisions, and the newest in which the policies fired, oldest first."""
    queries = [
        decisions.DecisionQuery(),
        *(decisions.DecisionQuery(policy_id=UUID(each)) for each in policy_ids),
    ]
    share = max(10, RECENT // max(1, len(policy_ids)))
    seqs: set[int] = set()
    with call.app.store.read() as connection:
        for number, query in enumerate(queries):
            page = decisions.search(
                connection,
                call.tenant_id,
                query,
                share if number else RECENT,
                max_examined=MAX_EXAMINED // max(1, len(policy_ids)),
            )
            seqs.update(each.seq for each in page.decisions)
        lines = log.read_many(connection, sorted(seqs), call.tenant_id, lambda _: None)
        return list(_readable(lines))


def _readable(lines: Iterable[LogLine]) -> Iterator[LoggedDecision]:
    """Yield undamaged decisions: a warning is based on those that can be read."""
    for line in lines:
        with suppress(DamagedLogError):
            yield line.decision()
