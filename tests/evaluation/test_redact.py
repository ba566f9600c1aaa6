"""What is kept of an event: no secret, everything else, the same from both."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import shared_lines
from tidegate.errors import EventError
from tidegate.evaluation import native, redact
from tidegate.policy.model import Settings
from tidegate.testing.strategies import event_bytes

KEY = b"k" * 32
PATTERNS = list(Settings().redact)


@pytest.fixture(params=[redact.Redactor, native.Redactor])
def make(request: pytest.FixtureRequest) -> Any:
    return request.param


def hashed(name: str, text: str) -> str:
    message = f"{len(name.encode())}:".encode() + name.lower().encode() + text.encode()
    return "hmac:" + hmac.new(KEY, message, hashlib.sha256).hexdigest()[:32]


def redacted(make: Any, event: Any, patterns: list[str] = PATTERNS) -> Any:
    return orjson.loads(make(patterns, KEY).redact(orjson.dumps(event)))


def test_values_under_matching_names_become_their_hash(make: Any) -> None:
    """In headers, cookies, parameters and fields, whatever the case of the name."""
    sections = ("headers", "cookies", "query_params", "route_params")
    secret = {"Authorization": "Bearer x", "New_Password": "p", "other": "kept"}
    event = {"request": dict.fromkeys(sections, secret), "fields": secret}
    kept = {
        "Authorization": hashed("Authorization", "Bearer x"),
        "New_Password": hashed("new_password", "p"),
        "other": "kept",
    }
    assert redacted(make, event) == {"request": dict.fromkeys(sections, kept), "fields": kept}


def test_the_same_secret_has_the_same_hash_only_under_the_same_key(make: Any) -> None:
    """So that decisions about one token can be found, by whoever has it and the key."""
    body = b'{"fields":{"secret":"x"}}'
    one, other = make(PATTERNS, KEY).redact(body), make(PATTERNS, b"other").redact(body)
    assert one == make(PATTERNS, KEY).redact(body)
    assert one != other


def test_a_cookie_header_is_a_secret_whatever_the_patterns(make: Any) -> None:
    """It holds cookies of any name."""
    headers = {"Cookie": "a=b; c=d", "SET-COOKIE": ["e", None, 1], "x": "cookie"}
    made = redacted(make, {"request": {"headers": headers, "cookies": {"cookie": "1"}}}, ["none"])
    assert made["request"]["headers"] == {
        "Cookie": hashed("cookie", "a=b; c=d"),
        "SET-COOKIE": hashed("set-cookie", '["e",null,1]'),
        "x": "cookie",
    }
    assert made["request"]["cookies"] == {"cookie": "1"}


def test_members_of_the_field_model_are_no_secrets_by_name(make: Any) -> None:
    """Even `*` leaves the frame of an event; members of no meaning are matched."""
    event = {
        "source": "s",
        "observed_at": "t",
        "idempotency_key": "i",
        "other": {"a": 1},
        "request": {"path": "/", "host": "h", "mine": 5, "cookies": {"c": "v"}},
        "fields": None,
    }
    assert redacted(make, event, ["*"]) == {
        **event,
        "other": hashed("other", '{"a":1}'),
        "request": {
            "path": "/",
            "host": "h",
            "mine": hashed("mine", "5"),
            "cookies": {"c": hashed("c", "v")},
        },
    }


def test_null_stays_null(make: Any) -> None:
    """It is the same as absent, and a hash would be present."""
    assert redacted(make, {"fields": {"password": None}}) == {"fields": {"password": None}}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("/a?b=1&password=x#c", "/a?b=1&password={x}#c"),
        ("/?Password=x=y;password=", "/?Password={x=y};password={}"),
        ("/password=x", "/password=x"),
        ("https://h/#password=x", "https://h/#password={x}"),
        ("/?password", "/?password"),
        ("/plain", "/plain"),
    ],
)
@pytest.mark.parametrize("place", ["path", "referer", "header", "return_url"])
def test_a_query_in_a_link_is_searched_too(make: Any, place: str, text: str, kept: str) -> None:
    """In the path as received, the referer and the return URL."""
    event = {
        "path": {"request": {"path": text}},
        "referer": {"request": {"referer": text}},
        "header": {"request": {"headers": {"Referer": text}}},
        "return_url": {"return_url": text},
    }[place]
    written = orjson.dumps(redacted(make, event)).decode()
    expected = re.sub(r"\{(.*?)\}", lambda found: hashed("password", found[1]), kept)
    assert f'"{expected}"' in written


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ({"user": {"password": "x"}, "a": [{"secret": 1}]}, None),
        ("user=ann&password=x", "user=ann&password={}"),
        ('{"a": 1.50, "password": "x"}', '{"a":1.50,"password":"{}"}'),
        ('[ {"password": "x"} ]', '[{"password":"{}"}]'),
        ('{"a": 1.50}', '{"a": 1.50}'),
        ('{"password": "x"', '{"password": "x"'),
        ("plain", "plain"),
    ],
)
def test_a_body_is_searched_as_json_or_as_a_form(make: Any, body: Any, kept: str | None) -> None:
    """Text without a secret stays to the byte."""
    made = redacted(make, {"fields": {"body": body}})["fields"]["body"]
    if kept is None:
        assert made["user"] == {"password": hashed("password", "x")}
        assert made["a"] == [{"secret": hashed("secret", "1")}]
    else:
        assert made == kept.replace("{}", hashed("password", "x"))


def test_numbers_stay_to_the_digit_and_blanks_go(make: Any) -> None:
    """What is stored decides like what came."""
    body = b'{ "fields" : { "n" : [ 1.50 , -0, 1e400 ] , "t" : "\\u00e9\\/\\u0001" } }'
    expected = '{"fields":{"n":[1.50,-0,1e400],"t":"é/\\u0001"}}'
    assert make(PATTERNS, KEY).redact(body) == expected.encode()


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"a":1,"a":2}', b"{}" + b" " * 65_536, b'"\xff"'])
def test_what_is_no_event_is_refused(make: Any, body: bytes) -> None:
    """Nothing of it may be stored unread."""
    with pytest.raises(EventError):
        make(PATTERNS, KEY).redact(body)


names = st.sampled_from(["a", "Password", "x-password-2", "b*", "referer", "cookie", "é", "pass"])
texts = st.sampled_from(["", "x", "?password=1&a=b", "a=1;pass=2", '{"password":"\\u0000"}', "[1]"])
values = st.recursive(
    texts | st.none() | st.booleans() | st.integers(-5, 5) | st.floats(0, 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
members = st.sampled_from(
    ["request", "fields", "return_url", "source", "path", "headers", "cookies", "body", "referer"]
)
shapes = st.dictionaries(
    members, values | st.dictionaries(members | names, values | st.dictionaries(names, values))
)
patterns = st.lists(
    st.sampled_from(["*", "a", "*pass*", "p*s*d", "", "*2", "cookie", "É", "b*", "é"]), max_size=3
)


@settings(max_examples=400)
@given(shapes, patterns)
def test_both_redact_generated_shapes_alike(event: Any, chosen: list[str]) -> None:
    """To the byte."""
    body = orjson.dumps(event)
    expected = redact.Redactor(chosen, KEY).redact(body)
    assert native.Redactor(chosen, KEY).redact(body) == expected


@settings(max_examples=200)
@given(event_bytes())
def test_both_redact_generated_events_alike(body: bytes) -> None:
    """Or refuse them alike."""
    answers = []
    for make in (redact.Redactor, native.Redactor):
        try:
            answers.append(make(PATTERNS, KEY).redact(body))
        except EventError as error:
            answers.append(error.pointer.encode())
    assert answers[0] == answers[1]


def test_both_redact_recorded_traffic_alike() -> None:
    """Events of the recorded traffic, to the byte."""
    ours, reference = native.Redactor(PATTERNS, KEY), redact.Redactor(PATTERNS, KEY)
    for event in shared_lines("data/traffic/events.jsonl.gz", step=200):
        body = orjson.dumps(event)
        assert ours.redact(body) == reference.redact(body)
