"""Secrets in keys and counted values: hashes everywhere, the same from both evaluators."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Literal

import attrs
import orjson
import pytest
from building import PUZZLE, START, document, event, policy
from tests.generators.scenarios import arrivals, changed, definitions

from tidegate.evaluation.redact import Redactor
from tidegate.evaluation.secrets.names import Names
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.policy.definitions.secrets import reading
from tidegate.testing.choices import RandomChoices
from tidegate_server.engines.serving import TenantEngine

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator
    from tidegate.policy.definitions.model import Definitions

KEY = b"k" * 32
REDACTOR = Redactor([], KEY)
NAMES = Names([])
EVALUATORS: tuple[Literal["native"], Literal["reference"]] = ("native", "reference")
PATTERNS = ((), ("n",), ("account",), ("account", "n", "cookie"), ("*",), ("*", "!account"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('request.headers["authorization"]', "authorization"),
        ('request.headers["X-Api-Key"].lowerAscii()', "x-api-key"),
        ('"a" + request.headers["set-cookie"]', "set-cookie"),
        ('request.cookies["theme"]', "theme"),
        ('request.query_params["access_token"]', "access_token"),
        ("fields.password", "password"),
        ('fields["body"]', "body"),
        ("request.body.user.pwd", "pwd"),
        ("request.headers[source]", "headers"),
        ("string(request.headers.exists(n, n == 'a'))", "headers"),
        ('request.query_params["q"] + request.cookies["a"]', "a"),
        ("cel.bind(t, fields.token, t + source)", "token"),
        ("size(fields)", "fields"),
        ("request.arguments[0].value", "arguments"),
        ("request.arguments.exists(a, a.name == source)", "arguments"),
        ('request.headers["user-agent"]', None),
        ('fields["account"]', None),
        ("request.body.user.id", None),
        ("request.raw_path", None),
        ("request.query", None),
        ("request.client_ip", None),
        ("derived.path_segments[0]", None),
        ('"password"', None),
    ],
)
def test_what_reads_a_secret_is_one(text: str, name: str | None) -> None:
    """A key part is a secret by the constant names it reads, or by a whole map of them."""
    read = reading(check(text, Schema.default()).root, NAMES)
    assert (read.name if read.is_secret else None) == name


def _engine(
    evaluator: Evaluator = "native", key: bytes | None = KEY, **settings: Any
) -> TenantEngine:
    keyed = [
        {"name": "Token", "key_fields": ['request.headers["authorization"]', "source"]},
        {"name": "Address", "key_fields": ["request.client_ip"]},
        {"name": "Link", "key_fields": ["request.raw_path"]},
    ]
    window = {"duration_seconds": 600, "threshold": 2, "measure": "distinct"}
    clauses = [
        {"name": "names", "entity": "address", "window": {**window, "field": "fields.pwd"}},
        {"name": "all", "entity": "token", "mitigation": "puzzle"},
    ]
    return TenantEngine(
        document(
            entities=keyed,
            mitigations=[{**PUZZLE, "ttl_seconds": 600}],
            policies=[policy(*clauses)],
            settings=settings,
        ),
        evaluator,
        redaction_key=key,
    )


def _event(secret: str = "Bearer marker", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = event("/a?password=marker", source="edge", fields={"pwd": "marker"})
    made["request"]["headers"] = {"Authorization": secret}
    return {**made, "return_url": "https://h/?token=marker", **more}


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_no_secret_is_in_what_an_engine_keeps(evaluator: Evaluator) -> None:
    """Record, effects, snapshot, active mitigations, explanation; the answer is as it was."""
    engine = _engine(evaluator)
    served = engine.serve(orjson.dumps(_event()), START, "an id")
    explanation = str(engine.explain(_event(), START)).encode()
    kept = served.record + served.effects + engine.snapshot() + explanation
    assert b"marker" not in kept + orjson.dumps(served.path)
    token, _, link = orjson.loads(served.record)["entities"]
    assert token["key"] == [REDACTOR.secret("authorization", "Bearer marker"), "edge"]
    assert link["key"] == [f"/a?password={REDACTOR.secret('password', 'marker')}"]
    answer = orjson.loads(served.answer)
    assert answer["action"]["challenge"]["return_url"] == "https://h/?token=marker"
    (active,) = engine.active_mitigations(START)
    assert active.key == tuple(token["key"])


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_a_recorded_event_has_the_key_it_was_decided_with(evaluator: Evaluator) -> None:
    """A recorded event gives the key that the original event had."""
    engine = _engine(evaluator)
    made = engine.decide(_event(), START)
    recorded = REDACTOR.redact(orjson.dumps(_event()))
    again = _engine(evaluator).decide(recorded, START)
    assert (again.entities, again.action) == (made.entities, made.action)


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_an_entity_is_found_by_its_value(evaluator: Evaluator) -> None:
    """An entity is found by its value, in clear or as its hash."""
    engine = _engine(evaluator)
    entity = engine.decide(_event(), START).entities[0]
    for key in (("Bearer marker", "edge"), entity.key):
        state = engine.entity_state("token", key, START)
        assert state is not None
        assert (state.event_count, state.key) == (1, entity.key)
    assert engine.entity_state("token", ("one",), START) is None


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_ids_and_keys_without_a_secret_are_what_they_were(evaluator: Evaluator) -> None:
    """Ids and keys without a secret are the same with and without a redaction key."""
    with_key, without = (_engine(evaluator, key) for key in (KEY, None))
    one, other = (each.decide(_event(), START).entities for each in (with_key, without))
    assert one[1] == other[1]
    assert other[0].key == ("Bearer marker", "edge")


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_state_in_clear_becomes_hashes_when_it_is_read(evaluator: Evaluator) -> None:
    """Clear values become hashes when snapshots or effects are read, or definitions change; windows
    go on."""
    before = _engine(evaluator, None)
    effects = [before.serve(orjson.dumps(_event()), START, "an id").effects]
    assert b"marker" in before.snapshot() + effects[0]
    hashed = _engine(evaluator)
    hashed.serve(orjson.dumps(_event()), START, "an id")
    by_snapshot, by_effects = _engine(evaluator), _engine(evaluator)
    by_snapshot.load_state(before.snapshot())
    by_effects.apply_effects(effects)
    assert by_snapshot.snapshot() == by_effects.snapshot() == hashed.snapshot()
    asked_for_clear = _engine(evaluator, redact=["!*"])
    asked_for_clear.decide(_event(), START)
    assert b"marker" in asked_for_clear.snapshot()
    changed_names = asked_for_clear.with_definitions(hashed.definitions)
    assert changed_names.snapshot() == hashed.snapshot()
    # Decisions of the old engine meanwhile arrive in clear too.
    asked_for_clear.decide(_event("Bearer another marker"), START + 1)
    assert b"marker" not in changed_names.snapshot()
    assert changed_names.stats()["keys"] == 4


def test_a_record_in_clear_is_shown_as_it_would_be_kept() -> None:
    """A record in clear is shown with hashed keys, their ids, and a redacted return URL."""
    record = _engine(key=None).decide(_event(), START)
    engine = _engine()
    assert engine.kept(record) == engine.decide(_event(), START)
    assert engine.kept(engine.kept(record)) == engine.kept(record)


@pytest.mark.parametrize(
    "condition",
    [
        'request.headers["authorization"].startsWith("Bearer")',
        'request.headers.exists(name, request.headers[name] == "x")',
        'int(request.headers["authorization"]) == 1',
        'cel.bind(t, request.cookies["sid"], t + "a" == "b")',
        'request.query_params.transformList(n, v, v).exists(v, v == "x")',
        'request.raw_path.contains("a")',
        'request.query.contains("a")',
        'request.arguments.exists(a, a.value == "x")',
        'request.referer.split("&").exists(part, part == "x")',
    ],
)
def test_a_trace_shows_no_secret(condition: str) -> None:
    """A trace shows no secret in a value, an element of a macro or the message of an error."""
    engine = TenantEngine(
        document(policies=[policy({"name": "c", "expression": condition})]), redaction_key=KEY
    )
    made = _event("marker")
    made["request"]["cookies"] = {"sid": "marker"}
    made["request"]["query_params"] = {"token": "marker"}
    made["request"]["referer"] = "https://h/?a=b&password=marker"
    explanation = engine.explain(made, START)
    shown = orjson.dumps(explanation.to_dict()).decode() + str(explanation)
    assert "marker" not in shown
    assert explanation.policies[0].clauses[0].condition is not None


@pytest.mark.parametrize("seed", range(60))
def test_both_evaluators_hash_alike(seed: int) -> None:
    """Records, effects and states, over changes of the names that are secrets."""
    choices = RandomChoices(random.Random(seed))
    first = _redacting(definitions(choices), seed)
    engines = [TenantEngine(first, each, redaction_key=KEY) for each in EVALUATORS]
    effects: list[bytes] = []
    for number, arrival in enumerate(arrivals(choices, 40)):
        if number == 20:
            other = _redacting(changed(choices, first), seed + 1)
            engines = [each.with_definitions(other) for each in engines]
        ours, expected = (
            each.serve(arrival.body, arrival.received_at, "an id") for each in engines
        )
        for name in ("answer", "record", "effects"):
            assert orjson.loads(getattr(ours, name)) == orjson.loads(getattr(expected, name))
        assert ours.path == expected.path
        effects.append(ours.effects)
    states = [orjson.loads(each.snapshot()) for each in engines]
    assert states[0] == states[1]
    for each in EVALUATORS:
        restored = TenantEngine.restore(
            engines[0].definitions, engines[1].snapshot(), each, redaction_key=KEY
        )
        assert orjson.loads(restored.snapshot()) == states[0]
        again = TenantEngine(engines[0].definitions, each, redaction_key=KEY)
        again.apply_effects(effects)
        assert orjson.loads(again.snapshot())["keys"] is not None


def _redacting(made: Definitions, number: int) -> Definitions:
    settings = attrs.evolve(made.settings, redact=PATTERNS[number % len(PATTERNS)])
    policies = tuple(each for each in made.policies if each.clauses)
    return attrs.evolve(made, settings=settings, policies=policies)
