"""The encoder of the reference and the native one: equal fields, equal refusals."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from functools import cache
from ipaddress import ip_address, ip_interface
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import shared_lines
from tidegate._native import RuleSet
from tidegate.errors import EventError
from tidegate.evaluation.agents.registry import KNOWN_AGENTS, KnownAgent
from tidegate.evaluation.encoder import encode
from tidegate.functions.addresses import parse_network
from tidegate.language.tree.schema import FIELD_MODEL, Schema
from tidegate.testing.strategies import event_bytes, events, schemas
from tidegate.types import parse_type
from tidegate.values import Duration, Timestamp, TypeName, UInt
from tidegate.wire_values import to_wire

PROXY_TEXTS = ("10.0.0.0/8", "2001:db8::/32")
PROXIES = [network for text in PROXY_TEXTS if (network := parse_network(text))]
MODEL = {name: str(declared) for name, declared in FIELD_MODEL.items()}
VARIABLES = {
    "b": "bool", "i": "int", "u": "uint", "d": "double", "s": "string", "by": "bytes",
    "t": "timestamp", "du": "duration", "ip": "net.IP", "net": "net.CIDR", "dyn": "dyn",
    "null": "null_type", "kind": "type", "list": "list(int)", "map": "map(int, double)",
    "bools": "map(bool, string)", "maybe": "optional_type(timestamp)", "app.level": "int",
    "request.extra": "string", "source": "int", "actions.seen": "bool",
}  # fmt: skip


@cache
def readers(declared: tuple[tuple[str, str], ...]) -> RuleSet:
    """A rule for each field, which reads it, in order."""
    programs = [
        {
            "id": name, "version": 1, "text": name, "type": type_text,
            "root": {"kind": "field", "span": [0, len(name)], "name": name},
        }
        for name, type_text in declared
    ]  # fmt: skip
    made = {"fields": dict(declared), "lists": {}, "limits": {}, "programs": programs}
    return RuleSet(orjson.dumps({**made, "trusted_proxies": PROXY_TEXTS}))


def reference_answer(event: Any, declared: Mapping[str, str]) -> Any:
    """The fields by the reference as VALUE JSON, or the pointer of its refusal."""
    types = {name: parse_type(text) for name, text in declared.items()}
    try:
        record = encode(event, list(types), variables=types, trusted_proxies=PROXIES)
    except EventError as error:
        return ("refused", error.pointer)
    return {name: json.dumps(to_wire(value)) for name, value in record.items()}


def native_answer(event: Any, declared: Mapping[str, str]) -> Any:
    """The same by the native encoder."""
    rules = readers(tuple(declared.items()))
    try:
        prepared = rules.prepare(event)
    except EventError as error:
        return ("refused", error.pointer)
    found = {}
    for index, name in enumerate(declared):
        value, code, _, _ = rules.outcome(index, prepared)
        if value is not None:
            found[name] = json.dumps(json.loads(value))
        else:
            assert code == "no_such_field", (name, code)
    return found


def agreed(event: Any, declared: Mapping[str, str] = MODEL) -> Any:
    """The answer that both give."""
    expected = reference_answer(event, declared)
    assert native_answer(event, declared) == expected
    return expected


def declared_by(schema: Schema) -> dict[str, str]:
    return {name: str(declared) for name, declared in schema.fields.items()}


# --- traffic --------------------------------------------------------------------------


def test_real_traffic_has_equal_fields() -> None:
    """Every two-hundredth event of the shared traffic, as bytes and as dict."""
    for event in shared_lines("data/traffic/events.jsonl.gz", step=200):
        from_bytes = agreed(json.dumps(event, ensure_ascii=False).encode())
        assert agreed(event) == from_bytes
        assert not isinstance(from_bytes, tuple)


def test_published_json_is_judged_alike() -> None:
    """Each text of the suite is judged alike, as it is and as a member that nothing reads."""
    for case in shared_lines("data/adversarial/json/jsontestsuite.jsonl"):
        repeat = case.get("repeat")
        if repeat:
            body = repeat["unit"].encode() * repeat["count"] + base64.b64decode(repeat["tail_b64"])
        else:
            body = base64.b64decode(case["body_b64"])
        agreed(body)
        answer = agreed(b'{"x": ' + body + b"}")
        if case["expect"] == "reject":
            assert answer == ("refused", ""), case["name"]
        elif case["expect"] == "accept" and "dup" not in case["name"]:
            assert not isinstance(answer, tuple), case["name"]


# --- generated events -----------------------------------------------------------------


@given(events())
def test_generated_dicts_have_equal_fields(event: dict[str, Any]) -> None:
    """Hostile strings, odd addresses, header names that fold."""
    agreed(event)


@given(event_bytes())
def test_generated_bytes_have_equal_fields(event: bytes) -> None:
    """JSON gives the same fields as the dict with the same content."""
    answer = agreed(event)
    if not isinstance(answer, tuple):
        assert agreed(json.loads(event)) == answer


@given(st.data())
def test_generated_variables_have_equal_values(data: st.DataObject) -> None:
    """Variables of every type, under schemas made by chance."""
    schema = data.draw(schemas())
    agreed(data.draw(events(schema)), declared_by(schema))
    agreed(data.draw(event_bytes(schema)), declared_by(schema))


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["2026-03-02T00:00:00Z", "1.5s", "aGk=", "::ffff:1.2.3.4", "10.0.0.1/8"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["1", "true"]), inner, max_size=3)
    ),
    max_leaves=6,
)
PLACES = (
    "", "source", "return_url", "tenant_id", "observed_at", "request", "fields", "fields/a",
    "fields/body", "fields/a/0", "request/method", "request/path", "request/client_ip",
    "request/headers", "request/headers/Accept", "request/cookies/a~1b", "request/route_params/x",
    "request/query_params/q/1", "request/other", "other", *VARIABLES, "app/level",
)  # fmt: skip


def event_with(place: str, value: Any) -> Any:
    """An event that is sound but for the value at a place."""
    event = value
    for part in reversed(place.split("/") if place else []):
        event = ["x", event][-1 - int(part) :] if part.isdigit() else {part: event}
    return event


@settings(max_examples=1_000)
@given(st.sampled_from(PLACES), JSON_VALUES)
def test_any_value_at_any_place_is_taken_or_refused_alike(place: str, value: Any) -> None:
    """Wrong types are refused with the same pointer, from a dict and from bytes."""
    event = event_with(place, value)
    for declared in (MODEL, MODEL | VARIABLES):
        from_dict = agreed(event, declared)
        from_bytes = agreed(json.dumps(event).encode(), declared)
        assert from_dict == from_bytes


@settings(max_examples=500)
@given(st.data(), event_bytes())
def test_damaged_text_is_judged_alike(data: st.DataObject, event: bytes) -> None:
    """Both readers give the same verdict on text with bytes removed, added or changed."""
    at = data.draw(st.integers(0, len(event)))
    taken = data.draw(st.integers(0, 3))
    put = data.draw(st.binary(max_size=3) | st.sampled_from([b"\\u", b"\\ud800", b'"', b",", b"1"]))
    agreed(event[:at] + put + event[at + taken :])


# --- the edges ------------------------------------------------------------------------

LONG = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 8_192


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "event",
    [
        {"fields": {"a": LONG}},
        {"fields": {"a": LONG + "x"}},
        {"fields": {LONG + "x": "a"}},
        {"request": {"headers": {"a": ["x", LONG + "x"]}}},
        {"fields": {str(number): 0 for number in range(256)}},
        {"fields": {str(number): 0 for number in range(257)}},
        {"request": {"cookies": {"a": ["x"] * 256}}},
        {"request": {"cookies": {"a": ["x"] * 257}}},
        {"fields": {"body": nested(30)}},
        {"fields": {"body": nested(31)}},
        {"fields": {"body": {"a~b/c": {"x": [0] * 257}}}},
        {"fields": {"body": str(nested(32))}},
        {"fields": {"body": str(nested(33))}},
        {"fields": {"body": '{"a": 1, "a": 2}'}},
        {"fields": {"body": "[1e999]"}},
        {"fields": {"body": [10**400]}},
        {"fields": {"body": [2**63, 2**64, -(2**63) - 1, -0.0, 1e16, 1.0]}},
        {"fields": {"a": [2**70, 1e16, 1e-7, -0.0, 100.0, True]}},
        {"fields": {"a": [None, 5.0]}},
        {"request": {"headers": {"A": "1", "b": [None], "a": ["2", None, 3], "B": "x"}}},
        {"request": {"headers": {"HOST": "A.test:", "X-Forwarded-For": "1.1.1.1, 10.0.0.1 "}}},
        {"request": {"headers": {"x-forwarded-for": "6.6.6.6, unknown, 10.0.0.1"}}},
        {"request": {"user_agent": "Mozilla/5.0 (Linux) Googlebot/2.1"}},
        {"request": {"user_agent": "Googlebot/2.1", "client_ip": "66.249.66.1"}},
        {"request": {"user_agent": "Googlebot/2.1", "client_ip": "66.249.63.255"}},
        {"request": {"user_agent": "Googlebot/2.1", "client_ip": "unknown"}},
        {"request": {"user_agent": "Amazonbot", "client_ip": "66.249.66.1"}},
        {"agent": {"proof": "signature", "product": "Shopbot"}},
        {"agent": {"proof": "range", "product": "x", "operator": 5, "purpose": "search"}},
        {"agent": {"proof": "name", "product": "Shopbot"}},
        {"agent": {"proof": "", "product": "Shopbot"}},
        {"agent": {"proof": "signature"}},
        {"agent": {"proof": "dns", "product": ""}},
        {"agent": {"proof": "dns", "product": "x", "purpose": "fun"}},
        {"agent": {"prof/~": "dns"}},
        {"agent": {"claims": ["a", None, 1]}},
        {"agent": {"claims": "a", "signature_problem": "expired", "proof": None}},
        {"agent": []},
        {"agent": {"proof": {}}},
        {"request": {"user_agent": "\N{ARABIC-INDIC DIGIT FIVE}" * 600 + " Googlebot/2.1"}},
    ],
)
def test_edges_are_drawn_alike(event: Any) -> None:
    """The limits to the unit, the numbers that no kind holds, the names that fold."""
    for declared in (MODEL, MODEL | VARIABLES):
        assert agreed(event, declared) == agreed(json.dumps(event).encode(), declared)


@pytest.mark.parametrize("known", KNOWN_AGENTS, ids=lambda known: known.family)
def test_known_agents_are_read_alike(known: KnownAgent) -> None:
    """Words and their parts are read alike, in either case, also next to non-ASCII characters."""
    family = known.family
    for text in (family, family.upper(), f"x{family}", f"{family}_", f"é{family}é", f"{family}9"):
        for user_agent in (text, f"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) ({text}/1.0)"):
            agreed(json.dumps({"request": {"user_agent": user_agent}}).encode(), MODEL)


@given(
    st.lists(
        st.sampled_from(
            ["Mozilla/5.0", " ", "(", ")", ";", ", ", "compatible", "Foo", "FooBot", "CUBOT",
             "/1.0", "Linux", "Android 9", "Spider", "x@y.example", "+https://x.example/crawler",
             "MSIE", "GPTBot", "Applebot-Extended", "Mobile Safari/537.36", "-", "é"]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_names_of_robots_are_read_alike(parts: list[str]) -> None:
    """Both evaluators find the same robot in any order of names, comments and addresses."""
    agreed(json.dumps({"request": {"user_agent": "".join(parts)}}).encode(), MODEL)


class Text(str):
    """A string of another class."""


class Method(str, Enum):  # noqa: UP042 (its text is not what it shows)
    """Strings that show themselves otherwise."""

    GET = "get"


@settings(max_examples=300)
@given(
    st.from_regex(
        r"2026-?0[1-4]-?(0[1-9]|3[01])[Tt _]?[0-2][0-9](:?[0-6][0-9]){0,3}([.,][0-9]{0,11})?"
        r"([Zz]|[+-][0-2][0-9](:?[0-9]{0,2})|)",
        fullmatch=True,
    )
)
def test_times_of_events_are_read_or_refused_alike(text: str) -> None:
    """Both encoders read the same forms of `observed_at`, from bytes and from a dict."""
    event = {"observed_at": text}
    for form in (event, orjson.dumps(event)):
        agreed(form, {"observed_at": "timestamp"})


@pytest.mark.parametrize(
    "event",
    [
        MappingProxyType({"request": MappingProxyType({"method": Text("get")})}),
        {"request": {"headers": MappingProxyType({"Accept": ("a", "b")})}},
        {"request": {"method": Method.GET, "headers": {Method.GET: Method.GET}}, "dyn": Method.GET},
        {"observed_at": datetime(2026, 3, 2, 1, tzinfo=timezone(timedelta(hours=1)))},
        {"observed_at": datetime(2026, 3, 2)},  # naive
        {"observed_at": Timestamp(5)},
        {"observed_at": Timestamp(10**30)},
        {"observed_at": 5},
        {"request": {"path": "\ud800"}},
        {"request": {"headers": {"\ud800": "a"}}},
        {"request": {"method": b"GET"}},
        {"fields": {"a": math.nan}},
        {"fields": {"a": [math.inf]}},
        {"fields": {"a": 10**5000}},
        {"fields": {"a": UInt(5)}},
        {"fields": {"a": UInt(2**64 - 1)}},
        {"fields": {1: "a"}},
        {"fields": {"a": object()}},
        {"fields": {"body": [math.nan]}},
        {"fields": {"body": [b"x", Timestamp(5), UInt(5)]}},
        {"fields": {"body": {1: "a"}}},
        {"fields": {"body": [object()]}},
        {"fields": {"body": b"[1]"}},
        {"d": math.nan, "i": True, "dyn": [b"x", {1: 2}]},
        {"by": b"x", "t": datetime(2026, 3, 2, tzinfo=UTC), "du": timedelta(seconds=1)},
        {"u": UInt(5), "du": Duration(5), "kind": TypeName("int"), "dyn": None, "null": None},
        {"i": 2**63},
        {"i": UInt(5)},
        {"list": [1, 2.0]},
        {"list": [1] * 257},
        {"map": {1: 2}},
        {"map": {"01": 2, "1": 3}},
        {"bools": {"true": "x", "yes": "y"}},
        {"dyn": object()},
        {"dyn": ip_address("fe80::1%eth0")},
        {"dyn": ip_interface("fe80::1%eth0/64")},
        {1: 2, "i": 5},
        [],
        None,
        "{}",
    ],
)
def test_what_json_has_no_form_for_is_taken_or_refused_alike(event: Any) -> None:
    """Both encoders take or refuse Python's own objects alike."""
    for declared in (MODEL, MODEL | VARIABLES):
        agreed(event, declared)
