"""Hot calls decided on together: the same as one by one, in the bytes of their definition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.generators.log_entries import LoggedCall, Surroundings, entry
from tests.generators.proofs import proof_keys
from tests.generators.scenarios import START, TENANT, arrivals, definitions

from shared_data import shared_lines
from tidegate.errors import EventError
from tidegate.evaluation import redact as reference_redaction
from tidegate.evaluation.envelope import envelope
from tidegate.evaluation.native import Block, NativeEngine, NativeProofKeys, Redactor
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.definitions.compile import compile_all
from tidegate.policy.reference_engine import ReferenceEngine
from tidegate.policy.served import Served
from tidegate.testing.choices import RandomChoices, pick
from tidegate.testing.strategies import event_bytes

if TYPE_CHECKING:
    from tidegate.evaluation.native import Calls
    from tidegate.policy.definitions.compiled import CompiledDefinitions

SCENARIOS = 40
EVENTS = 60
SECRET = b"k" * 32
BASE_URL = 'https://edge.test/"x'
API_KEYS = ("018f0000-0000-7000-8000-0000000000cc", "018f0000-0000-7000-8000-0000000000dd")
PATTERNS = ["account", "*token*"]
KEYS = proof_keys(TENANT)
NATIVE_KEYS = NativeProofKeys(TENANT.bytes, KEYS.proof_key, KEYS.sealing_key)


def compiled(number: int) -> CompiledDefinitions:
    return compile_all(definitions(RandomChoices(random.Random(number)))).compiled


def ids(first: int, count: int) -> list[UUID]:
    return [UUID(int=7 << 76 | 2 << 62 | number) for number in range(first, first + count)]


def read(engine: NativeEngine, *bodies: bytes, runtime: bool = True) -> Calls:
    return engine.read_calls(list(bodies), [runtime] * len(bodies), SECRET)


def decide(calls: Calls, count: int, aside: Sequence[int] = (), at: int = START) -> Block:
    names = b"".join(each.bytes for each in ids(1, count))
    keys = [API_KEYS[0]] * count
    return Block(*calls.decide(names, keys, at, BASE_URL, Redactor([], SECRET), aside))


@pytest.mark.parametrize("seed", range(SCENARIOS))
def test_a_block_is_what_its_definition_says(seed: int) -> None:
    """Byte for byte over the parts of single decisions; in meaning over the reference's."""
    choices = RandomChoices(random.Random(seed))
    made = compile_all(definitions(choices)).compiled
    together, single, reference = (
        NativeEngine(bundle(made), proof_keys=NATIVE_KEYS),
        NativeEngine(bundle(made), proof_keys=NATIVE_KEYS),
        ReferenceEngine(made, proof_keys=KEYS),
    )
    around = Surroundings(
        tenant_id=TENANT,
        revision=made.revision,
        policy_ids={policy.slug: policy.id for policy in made.policies},
        redact=reference_redaction.Redactor(PATTERNS, SECRET).redact,
        base_url=BASE_URL,
        hash_key=SECRET,
        proof_keys=KEYS,
    )
    redactor = Redactor(PATTERNS, SECRET)
    events = list(arrivals(choices, EVENTS, KEYS))
    while events:
        size = 1 + choices.below(12)
        part, events = events[:size], events[size:]
        at = part[0].received_at
        names = ids(len(events) * 100, len(part))
        calls = [
            LoggedCall(
                pick(choices, ("beacon", "runtime")),
                spiced(choices, arrival.body),
                pick(choices, API_KEYS),
                str(name),
                at,
            )
            for arrival, name in zip(part, names, strict=True)
        ]
        decided = together.read_calls(
            [call.body for call in calls], [call.endpoint == "runtime" for call in calls], SECRET
        ).decide(
            b"".join(name.bytes for name in names),
            [call.api_key_id for call in calls],
            at,
            BASE_URL,
            redactor,
        )
        block = Block(*decided)
        lines = block.lines.split(b"\n")
        entries = orjson.loads(b"[%b]" % block.index)
        assert block.count == len(lines) == len(entries) == len(calls)
        durations = [orjson.loads(line)["duration_us"] for line in lines]
        expected = [
            entry(around, call, Served(*single.serve(call.body, at, call.decision_id)), took)
            for call, took in zip(calls, durations, strict=True)
        ]
        assert block.answers == [each.answer for each in expected]
        assert lines == [each.line for each in expected]
        assert block.index == b",".join(each.index for each in expected)
        assert (block.first_id, block.last_id) == (names[0].bytes, names[-1].bytes)
        failed = [each for each in expected if not each.line.count(b'"errors":{}')]
        assert block.rule_errors == len(failed)
        for call, took, line, found in zip(calls, durations, lines, entries, strict=True):
            served = reference.serve(call.body, at, call.decision_id)
            meant = entry(around, call, served, took)
            assert orjson.loads(line) == orjson.loads(meant.line)
            assert found == orjson.loads(meant.index)
    assert together.snapshot() == single.snapshot()


def spiced(choices: RandomChoices, body: bytes) -> bytes:
    """An event with or without the further members that a call may have."""
    event = orjson.loads(body)
    event["fields"] = {"token": "sesame", "never": "empty", **(event.get("fields") or {})}
    for name, texts in (
        ("idempotency_key", ("a", "é\n", "k" * 255)),
        ("source", ("edge", 'q"\n')),
        ("tenant_id", (str(TENANT), str(TENANT).upper())),
    ):
        text = pick(choices, (None, *texts))
        if text is not None:
            event[name] = text
    return orjson.dumps(event)


@pytest.mark.parametrize(
    ("body", "runtime", "refusal"),
    [
        (b'{"request":{"path":null},"fields":{}}', True, "empty"),
        (b'{"request":{"path":null},"fields":{}}', False, None),
        (b'{"request":{"path":"/"}}', True, None),
        (b'{"fields":{"a":""}}', True, None),
        (b'{"tenant_id":"%b"}' % str(TENANT).upper().encode(), False, None),
        (b'{"tenant_id":"018f0000-0000-7000-8000-00000000000b"}', False, "other-tenant"),
        (b'{"tenant_id":""}', False, "other-tenant"),
        (b'{"idempotency_key":""}', False, "key-length"),
        (b'{"idempotency_key":"%b"}' % ("é" * 255).encode(), False, None),
        (b'{"idempotency_key":"%b"}' % (b"k" * 256), False, "key-length"),
        (b'{"idempotency_key":null}', False, None),
    ],
)
def test_a_call_is_refused_for_what_it_is(body: bytes, runtime: bool, refusal: str | None) -> None:
    """A malformed call is refused before anything is decided; the beacon takes an empty event."""
    calls = read(NativeEngine(bundle(compiled(0))), body, runtime=runtime)
    assert calls.refusals == ([] if refusal is None else [(0, refusal)])
    assert decide(calls, 1).count == (1 if refusal is None else 0)


def test_refused_and_deferred_calls_leave_the_others_as_they_are() -> None:
    """A refused or deferred call has an empty place, and is neither logged nor remembered."""
    bodies = [b'{"request":{"path":"/%d"}}' % number for number in range(5)]
    bodies[1] = b'{"request":1}'
    engine, other = NativeEngine(bundle(compiled(3))), NativeEngine(bundle(compiled(3)))
    calls = read(engine, *bodies)
    ((number, error),) = calls.refusals
    assert (number, isinstance(error, EventError)) == (1, True)
    block = decide(calls, 5, aside=[0, 4])
    lines = [orjson.loads(line) for line in block.lines.split(b"\n")]
    assert [line["event"]["request"]["path"] for line in lines] == ["/2", "/3"]
    assert block.count == len(orjson.loads(b"[%b]" % block.index)) == 2
    assert [body is None for body in block.answers] == [True, True, False, False, True]
    assert block.failures == []
    names = [each.bytes for each in ids(1, 5)]
    assert (block.first_id, block.last_id) == (names[2], names[3])
    for body, name in zip(bodies[2:4], ids(3, 2), strict=True):
        other.serve(body, START, str(name))
    assert engine.snapshot() == other.snapshot()


def test_an_event_that_cannot_be_kept_is_the_only_one_refused() -> None:
    """An event too long to redact is refused alone, and the others are decided."""
    made = compiled(3)
    made = attrs.evolve(made, limits=attrs.evolve(made.limits, event_bytes=100_000))
    engine, other = NativeEngine(bundle(made)), NativeEngine(bundle(made))
    bodies = [b'{"request":{"path":"/"}%b}' % (b" " * size) for size in (0, 70_000, 1)]
    calls = read(engine, *bodies)
    assert calls.refusals == []
    block = decide(calls, 3)
    assert [body is None for body in block.answers] == [False, True, False]
    [(number, error)] = block.failures
    assert (number, isinstance(error, EventError)) == (1, True)
    assert block.count == sum(count for *_, count in block.actions) == 2
    for body in (bodies[0], bodies[2]):
        other.serve(body, START, "an id")
    assert engine.snapshot() == other.snapshot()


def test_nothing_decided_is_an_empty_block() -> None:
    """A block without decisions has nothing to log."""
    calls = read(NativeEngine(bundle(compiled(0))), b"[]")
    block = decide(calls, 1)
    assert (block.count, block.answers, block.lines, block.index) == (0, [None], b"", b"")
    assert block.actions == []


@settings(max_examples=300)
@given(event_bytes(), st.booleans())
def test_calls_are_read_as_their_definition_says(body: bytes, runtime: bool) -> None:
    """Calls are read with the refusals and keys that their definition gives."""
    calls = read(NativeEngine(bundle(compiled(0))), body, runtime=runtime)
    try:
        known = envelope(body)
    except EventError as error:
        ((_, refusal),) = calls.refusals
        assert isinstance(refusal, EventError)
        assert refusal.pointer == error.pointer
        return
    key = known.idempotency_key
    if known.tenant_id is not None and known.tenant_id.lower() != str(TENANT):
        assert calls.refusals == [(0, "other-tenant")]
    elif runtime and known.empty:
        assert calls.refusals == [(0, "empty")]
    elif key is not None and not 0 < len(key) <= 255:
        assert calls.refusals == [(0, "key-length")]
    else:
        assert calls.refusals == []
        assert calls.keyed[0] == ([] if key is None else [0])


def test_a_key_is_of_one_tenant_and_one_endpoint() -> None:
    """The same text elsewhere is another key, and the hash is keyed."""
    engine = NativeEngine(bundle(compiled(0)))
    body, other = b'{"idempotency_key":"a","fields":{"b":1}}', b'{"idempotency_key":"a"}'

    def pair(calls: Calls) -> tuple[bytes, bytes]:
        [_], [key], [fingerprint] = calls.keyed
        return key, fingerprint

    runtime, beacon = pair(read(engine, body)), pair(read(engine, body, runtime=False))
    again = pair(read(engine, other, runtime=False))
    keyed = pair(engine.read_calls([body], [True], b"other"))
    assert len({runtime[0], beacon[0], keyed[0]}) == 3
    assert beacon[0] == again[0]
    assert beacon[1] != again[1]


def test_arguments_that_do_not_fit_are_refused() -> None:
    """Each call has one endpoint, one id and one API key; a hash key has at most 64 bytes."""
    engine = NativeEngine(bundle(compiled(0)))
    with pytest.raises(ValueError, match="64 bytes"):
        engine.read_calls([], [], b"k" * 65)
    with pytest.raises(ValueError, match="endpoints"):
        engine.read_calls([b"{}"], [], SECRET)
    for names, keys in ((b"", []), (bytes(17), ["k"]), (bytes(16), [])):
        with pytest.raises(ValueError, match="id and an API key"):
            read(engine, b"{}").decide(names, keys, START, BASE_URL, Redactor([], SECRET))


def test_recorded_traffic_is_read_as_its_definition_says() -> None:
    """Events of the recorded traffic, with their keys."""
    engine = NativeEngine(bundle(compiled(0)))
    around = Surroundings(TENANT, 1, {}, bytes, BASE_URL, SECRET)
    bodies = [
        orjson.dumps(event) for event in shared_lines("data/traffic/events.jsonl.gz", step=200)
    ]
    numbers, found, _ = read(engine, *bodies).keyed
    keys = {number: envelope(body).idempotency_key for number, body in enumerate(bodies)}
    assert dict(zip(numbers, found, strict=True)) == {
        number: around.identify("runtime", key) for number, key in keys.items() if key is not None
    }
