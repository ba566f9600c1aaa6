"""Generated definitions and the traffic they decide on, by which two evaluators are compared.

Everything is small on purpose: few actors, few values, short windows, little memory, so that
windows fill, mitigations end and keys are evicted within some dozen events.  Times go forward
mostly; some are equal, late, missing or too far ahead.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

import attrs
import orjson
from tests.generators.proofs import show_proofs

from tidegate.functions.time import timestamp_text
from tidegate.policy.definitions.keys import EntityKey, entity_id
from tidegate.policy.definitions.model import (
    Action,
    Block,
    Challenge,
    Clause,
    Definitions,
    EntityDefinition,
    Mitigation,
    Override,
    Policy,
    Settings,
    Tenant,
    Window,
)
from tidegate.testing.choices import RandomChoices, happens, pick
from tidegate.values import Timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.policy.definitions.model import Mode
    from tidegate.policy.proofs import ProofKeys
    from tidegate.testing.choices import Choices

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TENANT = UUID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff")

_HEADERS = (
    ("x-path", "request.path"),
    ("crawler-price", 'request.method == "GET" ? "USD 0.01" : ""'),
    ("x-token", 'request.headers["authorization"]'),
    ("x-name", "string(fields.account)"),
)
"""Computed headers: some are empty, secret, errors, or can't be sent."""

_CONDITIONS = (
    'request.method == "POST"',
    'request.path.startsWith("/a")',
    'request.path in ["/", "/a/1"]',
    'request.headers["x-token"] != "ok"',
    'request.user_agent.contains("bot")',
    "int(fields.n) > 2",
    "6 / size(fields.account) > 2",
    "request.body.k == 1",
    "has(request.body)",
    'inIpRange(request.client_ip, "10.0.0.0/8")',
    "request.body.flag == true",
    "observed_at.getSeconds() % 2 == 0",
    "double(fields.n) < 3.5",
    'cidr("10.0.0.0/8").containsIP(request.client_ip)',
    '["192.0.2.0/24", "2001:db8::/32"].exists(c, cidr(c).containsIP(request.client_ip))',
    'request.headers.exists(k, request.headers[k].contains("k"))',
    'request.headers.exists(k, request.headers[k].upperAscii().startsWith("OK"))',
    'request.headers.all(k, k == "x-token" && request.headers[k].size() < 2)',
    "size(request.headers) > 0",
    '"x-token" in request.headers',
    'request.user_agent.lowerAscii().endsWithAny(["bot", "url"])',
    'request.path.containsAny(["1", "b"])',
    'request.path.matches("^/[ab]$")',
    "size(fields.account) > 2",
    'fields.account in ["ann", "bob"] ? true : int(fields.n) > 1',
    "cel.bind(n, int(fields.n), n == 1 || n == 3)",
)
_ENTITY_CONDITIONS = (
    "entity.event_count > 3",
    "entity.event_count % 3 == 1",
    'entity.last_seen_at - entity.first_seen_at > duration("3s")',
    'observed_at - entity.first_seen_at < duration("10s") && request.method == "POST"',
)
_KEY_FIELDS = (
    "request.client_ip",
    "request.user_agent",
    "fields.account",
    "request.method",
    "size(request.path)",
    'request.method == "POST"',
    "uint(size(fields.n)) * 3000000000000000000u",
    "ip(request.client_ip)",
    "ip(request.client_ip).masked(24, 48)",
    "int(fields.n)",
    "string(request.body.k)",
)
_COUNTED = (*_KEY_FIELDS, "request.path", "fields.n")
_ACCOUNTS = ("ann", "bob", 'a"\\\n\u0001b', "é\u2028😀", "")
_ADDRESSES = ("10.0.0.1", "10.0.0.2", "192.0.2.7", "2001:DB8::1", "::ffff:10.0.0.1", "no address")
_NETWORKS = ("10.0.0.1", "10.0.0.0/30", "10.0.0.0/7", "2001:db8::/32", "192.0.2.0/24", None, None)
_KEYS: tuple[str | int | bool, ...] = (
    "ann",
    "GET",
    "POST",
    "curl",
    "a bot",
    True,
    "10.0.0.1",
    "192.0.2.7",
    4,
)
_MODES: tuple[Mode, ...] = ("Monitor", "Challenge", "Block")
_BODIES: tuple[Any, ...] = ({"k": 1, "flag": True}, {"k": "x", "flag": 1}, '{"k": 2}', "text", [1])


@attrs.frozen
class Arrival:
    """An event as JSON, and when it arrived (nanoseconds since 1970)."""

    body: bytes
    received_at: int


def definitions(choices: Choices) -> Definitions:
    """A definition set of some of everything."""
    actions = _count(choices, 0, 3)
    entities = _count(choices, 0, 3)
    mitigations = _count(choices, 1, 4)
    revision = choices.below(100)
    return Definitions(
        tenant=Tenant(tenant_id=str(TENANT), name="Generated", slug="generated"),
        revision=revision,
        settings=Settings(max_keys=pick(choices, (1, 2, 3, 5, 1_000))),
        actions=tuple(_action(choices, number) for number in range(actions)),
        entities=tuple(_entity(choices, number, actions) for number in range(entities)),
        mitigations=tuple(_mitigation(choices, number) for number in range(mitigations)),
        policies=tuple(
            _policy(choices, number, (actions, entities, mitigations))
            for number in range(_count(choices, 1, 4))
        ),
        overrides=_overrides(revision),
    )


def changed(choices: Choices, definitions: Definitions) -> Definitions:
    """The same definitions with some clauses changed, some gone and some new ones."""
    policies = tuple(
        attrs.evolve(policy, clauses=tuple(_changed(choices, policy.clauses)))
        for policy in definitions.policies
        if happens(choices, 90)
    )
    overrides = definitions.overrides[: len(policies)]
    return attrs.evolve(definitions, policies=policies, overrides=overrides)


def arrivals(
    choices: Choices, count: int, proof_keys: ProofKeys | None = None
) -> Iterator[Arrival]:
    """Events in the order of their arrival.

    Args:
        choices: what is generated.
        count: how many.
        proof_keys: with them, some events show proofs of challenges.
    """
    received_at = START
    for number in range(count):
        received_at += _pause(choices)
        event = _event(choices, received_at, number)
        if proof_keys is not None and "request" in event and happens(choices, 40):
            show_proofs(choices, proof_keys, event, received_at)
        yield Arrival(orjson.dumps(event), received_at)


def _count(choices: Choices, least: int, most: int) -> int:
    return least + choices.below(most - least + 1)


def _id(kind: str, number: int) -> str:
    return str(uuid5(TENANT, f"{kind} {number}"))


def _condition(choices: Choices, actions: int, *, of_entity: bool = False) -> str:
    options = list(_CONDITIONS)
    options += [f"actions.a{number}" for number in range(actions)] * 4
    if of_entity:
        options += _ENTITY_CONDITIONS * 4
    return _joined(choices, options, 2)


def _joined(choices: Choices, options: list[str], depth: int) -> str:
    """A condition, or several in a chain."""
    if depth > 0 and happens(choices, 40):
        sign = pick(choices, (" && ", " && ", " || "))
        parts = [_joined(choices, options, depth - 1) for _ in range(_count(choices, 2, 3))]
        condition = sign.join(f"({part})" for part in parts)
    else:
        condition = pick(choices, options)
    return f"!({condition})" if happens(choices, 15) else condition


def _action(choices: Choices, number: int) -> Action:
    return Action(
        action_id=_id("action", number),
        name=f"Action {number}",
        slug=f"a{number}",
        enabled=happens(choices, 90),
        expression=_condition(choices, 0),
    )


def _entity(choices: Choices, number: int, actions: int) -> EntityDefinition:
    return EntityDefinition(
        entity_definition_id=_id("entity", number),
        name=f"Entity {number}",
        slug=f"e{number}",
        enabled=happens(choices, 90),
        priority=choices.below(3),
        key_fields=tuple(pick(choices, _KEY_FIELDS) for _ in range(_count(choices, 1, 2))),
        match_expression=_condition(choices, actions) if happens(choices, 30) else None,
        on_missing_key=pick(choices, ("skip", "blank")),
    )


def _mitigation(choices: Choices, number: int) -> Mitigation:
    mode: Mode = pick(choices, _MODES)
    template = pick(choices, (None, "https://example.test/back"))
    headers = {"x-b": "2", "x-a": 'q"'} if happens(choices, 70) else {}
    computed = dict(_HEADERS[: choices.below(len(_HEADERS) + 1)])
    return Mitigation(
        mitigation_id=_id("mitigation", number),
        name=f"Mitigation {number}",
        slug=f"m{number}",
        enabled=happens(choices, 90),
        mode=mode,
        ttl_seconds=pick(choices, (0, 1, 4, 30)),
        challenge=Challenge(difficulty=number + 1, default_return_url_template=template)
        if mode == "Challenge"
        else None,
        block=Block(body="né\n", headers=headers, computed_headers=computed)
        if mode == "Block"
        else None,
    )


def _policy(choices: Choices, number: int, objects: tuple[int, int, int]) -> Policy:
    return Policy(
        policy_id=_id("policy", number),
        name=f"Policy {number}",
        slug=f"p{number}",
        enabled=happens(choices, 90),
        status="active" if happens(choices, 90) else "draft",
        priority=choices.below(3),
        expression=_condition(choices, objects[0]) if happens(choices, 40) else None,
        clauses=tuple(_clauses(choices, objects)),
    )


def _overrides(seed: int) -> tuple[Override, ...]:
    """No override mostly, else some that begin and end while the events arrive."""
    choices = RandomChoices(random.Random(seed))
    count = _count(choices, 1, 4) if happens(choices, 40) else 0
    return tuple(_override(choices, number) for number in range(count))


def _override(choices: Choices, number: int) -> Override:
    network = pick(choices, (*_NETWORKS, None))
    slug, key = f"e{choices.below(3)}", EntityKey.of("", (pick(choices, _KEYS),))
    entity = entity_id(TENANT, _id("entity", int(slug[1:])), key)
    start = START + choices.below(60) * SECOND
    end = start + 1 + choices.below(90 * SECOND)
    return Override(
        override_id=_id("override", number),
        name=f"Override {number}",
        slug=f"o{number}",
        kind=pick(choices, ("ban", "allow")),
        network=network,
        entity_id=str(entity) if network is None else None,
        starts_at=None if happens(choices, 50) else timestamp_text(Timestamp(start)),
        ends_at=timestamp_text(Timestamp(end)),
        reason="generated",
        wide=True,
    )


def _clauses(choices: Choices, objects: tuple[int, int, int]) -> Iterator[Clause]:
    """Clauses, some with the same requirements as the clause before."""
    last = _clause(choices, 0, objects)
    for number in range(_count(choices, 1, 4)):
        if number > 0 and happens(choices, 45):
            last = _like(choices, last, f"clause-{number + 1}")
        elif number > 0:
            last = _clause(choices, number, objects)
        yield last


def _like(choices: Choices, clause: Clause, name: str) -> Clause:
    """A clause with the same requirements, mostly over another duration."""
    window = clause.window
    if window and happens(choices, 80):
        rule = _window(choices)
        duration = rule.duration_seconds if happens(choices, 60) else window.duration_seconds
        window = attrs.evolve(window, threshold=rule.threshold, duration_seconds=duration)
    return attrs.evolve(clause, name=name, window=window, final=happens(choices, 15))


def _changed(choices: Choices, clauses: tuple[Clause, ...]) -> Iterator[Clause]:
    for clause in clauses:
        if happens(choices, 20):
            yield _like(choices, clause, f"{clause.name}-more")
        if happens(choices, 60):
            yield clause
        elif happens(choices, 70):
            yield _like(choices, clause, clause.name)


def _clause(choices: Choices, number: int, objects: tuple[int, int, int]) -> Clause:
    actions, entities, mitigations = objects
    has_entity = entities > 0 and happens(choices, 75)
    return Clause(
        name=f"clause-{number + 1}",
        expression=_condition(choices, actions, of_entity=has_entity)
        if happens(choices, 50)
        else None,
        actions=tuple(f"a{number}" for number in range(actions) if happens(choices, 25)),
        entity=f"e{choices.below(entities)}" if has_entity else None,
        mitigation=f"m{choices.below(mitigations)}" if happens(choices, 85) else None,
        window=_window(choices) if has_entity and happens(choices, 70) else None,
        final=happens(choices, 8),
    )


def _window(choices: Choices) -> Window:
    is_distinct = happens(choices, 50)
    return Window(
        duration_seconds=pick(choices, (1, 2.5, 7, 1.0000000005, 86_400)),
        threshold=pick(choices, (1, 2, 3, 4, 9, 12)),
        measure="distinct" if is_distinct else "count",
        field=pick(choices, _COUNTED) if is_distinct else None,
    )


def _pause(choices: Choices) -> int:
    """The time to the next arrival: nothing, part of a second, exactly a second, several."""
    return pick(
        choices, (0, 1, 250_000_000, 999_999_999, SECOND, SECOND, 2_500_000_000, 6 * SECOND)
    )


def _observed_at(choices: Choices, received_at: int) -> str:
    shift = pick(choices, (0, 0, 0, -SECOND, -3 * SECOND, -90 * SECOND, 2 * SECOND, 900 * SECOND))
    seconds, nanoseconds = divmod(received_at + shift - START, SECOND)
    minutes, seconds = divmod(seconds + 1_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"2023-11-14T{hours:02}:{minutes:02}:{seconds:02}.{nanoseconds:09}Z"


def _event(choices: Choices, received_at: int, number: int) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": pick(choices, ("GET", "POST")),
        "path": pick(choices, ("/", "/a/1", "/a/2", "/b", "/a/../b", "/é", "")),
        "client_ip": pick(choices, _ADDRESSES),
        "user_agent": pick(choices, ("curl", "a bot", "")),
    }
    fields: dict[str, Any] = {"account": pick(choices, _ACCOUNTS), "n": choices.below(6)}
    event: dict[str, Any] = {"idempotency_key": str(number), "request": request, "fields": fields}
    if happens(choices, 85):
        event["observed_at"] = _observed_at(choices, received_at)
    if happens(choices, 30):
        request["headers"] = {"X-Token": "ok"}
    if happens(choices, 40):
        fields["body"] = pick(choices, _BODIES)
    if happens(choices, 30):
        event["return_url"] = pick(choices, ("", "https://here.test/?a=1"))
    for members in (request, fields):
        for name in list(members):
            if happens(choices, 8):
                del members[name]
    return event
