"""Pickles, copies and JSON of the objects that users hold."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Protocol, is_typeddict

import attrs
import pytest

import tidegate
from tidegate.types import parse_signature

DOCUMENT: dict[str, Any] = {
    "apiVersion": "tidegate/v1",
    "settings": {"redact": ["pin"]},
    "actions": [{"name": "Sign in", "expression": 'request.path == "/login"'}],
    "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
    "lists": [
        {
            "name": "Crawlers",
            "kind": "ip",
            "source": {"url": "https://lists.example/ips.json", "format": "lines"},
        }
    ],
    "mitigations": [
        {"name": "Refuse", "mode": "Block", "ttl_seconds": 900, "block": {"status_code": 429}},
        {"name": "Ask", "mode": "Challenge", "challenge": {"provider": "pow", "difficulty": 10}},
    ],
    "policies": [
        {
            "name": "Login",
            "expression": 'actions.sign_in && request.headers["x"] != "1"',
            "clauses": [
                {
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 2},
                }
            ],
        },
        {"name": "Ask", "expression": "int(fields.n) > 3", "clauses": [{"mitigation": "ask"}]},
    ],
}
BAN = {
    "name": "Ban",
    "kind": "ban",
    "network": "198.51.100.0/24",
    "ends_at": "2100-01-01T00:00:00Z",
    "reason": "scans",
}
DOCUMENT["overrides"] = [BAN]
EVENT: tidegate.Event = {"request": {"path": "/login", "client_ip": "192.0.2.7", "headers": {}}}
NEVER = ("AsyncClient", "Client", "Engine", "Frozen", "PreparedContext")
"""Classes whose objects can't be pickled or copied, and say what to do instead."""
METHODS = (
    ("pickle", lambda held: pickle.loads(pickle.dumps(held))),
    ("copy", copy.copy),
    ("deepcopy", copy.deepcopy),
)


def error_of(call: Callable[[], object]) -> Exception:
    """The error of a call that fails."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    return caught.value


def roots() -> Iterator[Any]:
    """Objects as users get them; their parts are held too."""
    engine = tidegate.Engine(DOCUMENT)
    decisions = [engine.decide(EVENT) for _ in range(3)]
    yield from (*decisions, engine.decide({"request": {"path": "/"}, "fields": {"n": 9}}))
    yield from (tidegate.Engine(DOCUMENT, "reference"), engine, engine.definitions)
    yield from (engine.explain(EVENT), engine.explain({"fields": {"n": 9}}))
    yield engine.explain({"request": {"client_ip": "198.51.100.1"}})
    yield from (engine.freeze(), tidegate.Engine(DOCUMENT, "reference").freeze())
    at = 2**62
    yield from (*engine.active_mitigations(0), engine.entity_state("address", ("192.0.2.7",), at))
    program = tidegate.compile("request.path == '/'")
    yield from (program, program.checked, program.prepare(EVENT), tidegate.compile("1"))
    for rules in (
        tidegate.RuleSet({"a": "true"}),
        tidegate.RuleSet({"a": "true"}, None, "reference"),
    ):
        yield from (rules, rules.stats(), rules.match(EVENT))
    yield from (
        error_of(lambda: tidegate.compile("1 +")),
        error_of(lambda: tidegate.load_definitions({"lists": 1})),
        tidegate.SecondPlace("the first", "/policies/0"),
        tidegate.Decision(tidegate.Allow(), "no-match"),
        tidegate.Served(b"", b"", b"", "allow", "no-match", None, None, None, [], 0, None, []),
        parse_signature("size(string) -> int"),
        error_of(lambda: engine.decide({"fields": {"a": {}}, "request": {"path": 1}})),  # type: ignore[typeddict-item]
        error_of(lambda: tidegate.compile("1 / int(fields.n) > 0").evaluate({"fields": {"n": 0}})),
        error_of(lambda: engine.load_state(b"{}")),
        tidegate.EffectsError("malformed", 3),
        tidegate.TidegateError("any"),
        tidegate.ClientError("any"),
    )
    client, calls = (kind("http://127.0.0.1:1", "key", allow_http=True) for kind in CLIENTS)
    error = error_of(lambda: client.decide(EVENT, fail_mode="raise", timeout=0.1))
    yield from (client, calls, error, tidegate.ErrorDetail(detail="any"))
    yield client.decide(EVENT, fail_mode="open", timeout=0.1)
    yield from (client.counts, tidegate.Backoff(), tidegate.Batching(), tidegate.World())
    yield tidegate.BeaconResponse(item_id="1", lookup_entity_id=None, active_mitigation="Block")
    yield tidegate.FailedEvent(event=EVENT, idempotency_key="k", error=error, attempts=1)  # type: ignore[arg-type]
    yield tidegate.EncodedEvent(EVENT, "k", b"{}")
    client.close()
    yield from (tidegate.UInt(3), tidegate.Duration(3), tidegate.Timestamp(3))
    yield from (tidegate.OptionalValue(), tidegate.OptionalValue(3), tidegate.TypeName("int"))
    yield from (tidegate.Limits(), tidegate.NamedList("ip", ("192.0.2.0/24",)))
    yield tidegate.Schema.default().with_variables({"plan.level": "int"})


CLIENTS: tuple[Any, ...] = (tidegate.Client, tidegate.AsyncClient)


def parts(held: Any, known: dict[int, Any]) -> None:
    """Collect an object and its parts."""
    if id(held) in known or type(held) in (str, bytes, int, float, bool, type(None)):
        return
    known[id(held)] = held
    inner: Any = ()
    if attrs.has(type(held)):
        names = [each.name for each in attrs.fields(type(held)) if not each.name.startswith("_")]
        inner = [getattr(held, name) for name in names]
    elif isinstance(held, Mapping):
        inner = list(held.values())
    elif isinstance(held, tuple | list | frozenset):
        inner = held
    elif isinstance(held, Exception):
        inner = list(vars(held).values())
    for each in inner:
        parts(each, known)


@cache
def every() -> list[Any]:
    """All objects that the roots lead to."""
    known: dict[int, Any] = {}
    for root in roots():
        parts(root, known)
    return list(known.values())


def is_held(name: str) -> bool:
    """Whether a public name is a class that users hold objects of."""
    value = getattr(tidegate, name)
    is_protocol = inspect.isclass(value) and Protocol in value.__mro__
    return inspect.isclass(value) and not is_typeddict(value) and not is_protocol


HELD = [name for name in tidegate.__all__ if is_held(name)]


def shown(held: Any) -> Any:
    """Something that is equal for equal objects, where these don't compare themselves."""
    if isinstance(held, Exception):
        return type(held), str(held), {name: shown(each) for name, each in vars(held).items()}
    if isinstance(held, tidegate.RuleSet):
        return held.to_canonical(), held.evaluator, held.match(EVENT)
    if isinstance(held, tidegate.Program):
        return held.checked, held.evaluator, held.evaluate(EVENT)
    if isinstance(held, tidegate.FailedEvent):
        return held.event, held.idempotency_key, shown(held.error), held.attempts
    if isinstance(held, tidegate.RuntimeDecision):
        return held.action, held.reason, held.decision_id, shown(held.error)
    if isinstance(held, tidegate.World):
        return held.now, held.clock, held.sleep, held.new_key
    return held


@pytest.mark.parametrize("name", [name for name in HELD if name not in NEVER])
def test_what_is_held_is_pickled_and_copied(name: str) -> None:
    """Each public class has objects that come back equal from a pickle, a copy and a deep copy."""
    found = [each for each in every() if type(each) is getattr(tidegate, name)]
    assert found, f"no object of {name}: add one to `roots`"
    for held in found:
        for how, copied in METHODS:
            assert shown(copied(held)) == shown(held), how


@pytest.mark.parametrize("name", NEVER)
def test_what_is_not_copied_says_what_to_do(name: str) -> None:
    """An engine, a client and what belongs to them refuse with what to do instead."""
    kinds = {
        "Frozen": ("Frozen", "FrozenState"),
        "PreparedContext": ("Prepared",),
    }.get(name, (name,))
    found = [each for each in every() if type(each).__name__ in kinds]
    assert {type(each).__name__ for each in found} == {*kinds}
    for held in found:
        for _, copied in METHODS:
            with pytest.raises(TypeError, match="can't be pickled or copied: "):
                copied(held)


def test_an_engine_goes_on_from_what_its_error_names() -> None:
    """Definitions and a snapshot are pickled in place of an engine, and make it again."""
    engine = tidegate.Engine(DOCUMENT)
    engine.decide(EVENT, 5)
    kept = pickle.loads(pickle.dumps((engine.definitions, engine.snapshot())))
    assert tidegate.Engine.restore(*kept).snapshot() == engine.snapshot()


def test_results_have_json() -> None:
    """A decision, an explanation, definitions and matches have the JSON that the page names."""
    engine = tidegate.Engine(DOCUMENT)
    decision = engine.decide(EVENT)
    assert json.loads(decision.to_json()) == decision.to_record()
    matches = tidegate.RuleSet({"a": "true"}).match(EVENT)
    assert json.loads(json.dumps(matches._asdict())) == {"matched": ["a"], "errors": {}}
