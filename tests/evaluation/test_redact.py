"""The parts of an event that are kept: all but secrets, the same from both redactors."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.redacted_shapes import patterns, shapes

from shared_data import shared_lines
from tidegate.errors import EventError
from tidegate.evaluation import native, redact
from tidegate.evaluation.secrets import families
from tidegate.testing.strategies import event_bytes

KEY = b"k" * 32
PATTERNS: list[str] = []


@pytest.fixture(params=[redact.Redactor, native.Redactor])
def make(request: pytest.FixtureRequest) -> Any:
    return request.param


def hashed(name: str, text: str) -> str:
    message = f"{len(name.encode())}:".encode() + name.lower().encode() + text.encode()
    return "hmac:" + hmac.new(KEY, message, hashlib.sha256).hexdigest()[:32]


def redacted(make: Any, event: Any, patterns: list[str] = PATTERNS) -> Any:
    return orjson.loads(make(patterns, KEY).redact(orjson.dumps(event)))


def test_values_under_matching_names_become_their_hash(make: Any) -> None:
    """A value under a matching name becomes a hash, in every map and in any case of the name."""
    sections = ("headers", "query_params", "route_params", "cookies")
    secret = {"Authorization": "Bearer x", "New_Password": "p", "other": "kept"}
    event = {"request": dict.fromkeys(sections, secret), "fields": secret}
    kept = {
        "Authorization": hashed("Authorization", "Bearer x"),
        "New_Password": hashed("new_password", "p"),
        "other": "kept",
    }
    expected = {
        **dict.fromkeys(sections, kept),
        "cookies": {**kept, "other": hashed("other", "kept")},
    }
    assert redacted(make, event) == {"request": expected, "fields": kept}


def test_a_query_as_it_was_sent_loses_its_secrets(make: Any) -> None:
    """The pairs of a query are searched from the first on, decoded names too."""
    query = "password=p&x=1&%63ode=abc&x=2"
    made = redacted(make, {"request": {"query": query}})["request"]["query"]
    expected = f"password={hashed('password', 'p')}&x=1&%63ode={hashed('code', 'abc')}&x=2"
    assert made == expected


def test_the_same_secret_has_the_same_hash_only_under_the_same_key(make: Any) -> None:
    """One secret has one hash for each key, so decisions about it can be found."""
    body = b'{"fields":{"secret":"x"}}'
    one, other = make(PATTERNS, KEY).redact(body), make(PATTERNS, b"other").redact(body)
    assert one == make(PATTERNS, KEY).redact(body)
    assert one != other


def test_cookies_are_secrets_whatever_the_patterns(make: Any) -> None:
    """Cookies are hashed in their header and one by one, whatever the patterns."""
    headers = {"Cookie": "a=b; c=d", "SET-COOKIE": ["e", None, 1], "x": "cookie"}
    made = redacted(make, {"request": {"headers": headers, "cookies": {"cookie": "1"}}}, ["none"])
    assert made["request"]["headers"] == {
        "Cookie": hashed("cookie", "a=b; c=d"),
        "SET-COOKIE": hashed("set-cookie", '["e",null,1]'),
        "x": "cookie",
    }
    assert made["request"]["cookies"] == {"cookie": hashed("cookie", "1")}


def test_the_tenant_may_ask_for_clear_text(make: Any) -> None:
    """A pattern after `!` keeps a value in clear, for cookies as for other names."""
    values = {"theme": "dark", "csrf_token": "t", "x-token": "t", "sid": "s"}
    event = {"request": {"cookies": values}, "fields": values}
    made = redacted(make, event, ["*token", "!theme", "!CSRF-token"])
    clear = {"theme": "dark", "csrf_token": "t", "x-token": hashed("x-token", "t")}
    assert made == {
        "request": {"cookies": {**clear, "sid": hashed("sid", "s")}},
        "fields": {**clear, "sid": hashed("sid", "s")},
    }


def test_members_of_the_field_model_are_no_secrets_by_name(make: Any) -> None:
    """Even the pattern `*` spares the frame of an event, and matches unknown members."""
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
    """A null under a secret name stays null, since a hash would make it present."""
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
    """Secrets in the query of a path, referer or return URL are hashed."""
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


NAMES = [
    "password", "new_password", "pass%77ord", "pass%2577ord", "pass%252577ord", "%25252525252541",
    "X-API-Key", "x_api_key", "apiKey", "api+key", "x-auth-token", "access_token", "refreshToken",
    "session_id", "sessionId", "PHPSESSID", "JSESSIONID", "connect.sid", "pwd", "user[pwd]",
    "account.pwd", "client_secret", "id_token", "passphrase", "X-CSRF-Token", "private-key",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_are_decoded_and_compared_without_what_separates_words(make: Any, name: str) -> None:
    """Encoded names and names with separators match the default patterns, in members, queries and
    forms."""
    event = {
        "request": {
            "path": f"/a;{name}=SECRET/b?x=1&{name}=SECRET",
            "query_params": {name: "SECRET"},
        },
        "fields": {"body": f"x=1&{name}=SECRET&y=2", name: ["SECRET"], "map": "a", "other": "kept"},
        "return_url": f"https://h/?{name}=SECRET",
    }
    made = redacted(make, event)
    assert "SECRET" not in orjson.dumps(made).decode()
    assert made["fields"]["other"] == "kept"


def test_ordinary_names_are_no_secrets(make: Any) -> None:
    """The usual members of traffic stay unchanged to the byte."""
    names = ["path", "page", "passenger", "author", "tokens_used", "keyboard", "inside", "kind",
             "id", "user", "accept", "host", "compass", "assessment", "monkey"]  # fmt: skip
    event = {
        "request": {
            "query_params": dict.fromkeys(names, "x"),
            "headers": dict.fromkeys(names, "x"),
        },
        "fields": {"body": "&".join(f"{name}=x" for name in names)},
    }
    assert redacted(make, event) == event


HIDDEN = [
    "/login?next=%2Fa%3Fpassword%3DSECRET",
    "/login?next=%252Fa%253Fpassword%253DSECRET",
    "/a%3Fpassword%3DSECRET",
    "https://ann:SECRET@host/",
    "https://ann:a;SECRET&b@host/?x=1",
    "//SECRET@host",
    "https:\\\\ann:SECRET@host",
    "/go?to=https%3A%2F%2Fann%3ASECRET%40host%2F",
    '/?filter={"password":"SECRET"}',
    "/?filter=%7B%22password%22%3A%22SECRET%22%7D",
    '/?filter={"password":"SECRET"',
    "/a;v=1;password=SECRET/b",
    "/?a=b&c=pwd=SECRET",
]


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize("place", ["path", "referer", "return_url", "location", "origin", "query"])
def test_a_secret_in_a_url_is_found_wherever_the_url_is(make: Any, place: str, text: str) -> None:
    """Userinfo, nested and encoded URLs, JSON in a query, matrix parameters."""
    event: dict[str, Any] = {
        "path": {"request": {"path": text}},
        "referer": {"request": {"referer": text}},
        "return_url": {"return_url": text},
        "query": {"request": {"query_params": {"next": text}}},
    }.get(place, {"request": {"headers": {place: text}}})
    once = make(PATTERNS, KEY).redact(orjson.dumps(event))
    assert b"SECRET" not in once
    assert make(PATTERNS, KEY).redact(once) == once


BODIES = [
    '\ufeff{"password":"SECRET"}',
    '{"password":"SECRET"',
    '{"a":1,"a":2,"password":"SECRET"}',
    '{"password":"SECRET"}\n{"password":"SECRET"}',
    "{'password': 'SECRET'}",
    '[{"password":"SECRET"},]',
    "<login><password>SECRET</password></login>",
    ' <?xml version="1.0"?><a pwd="SECRET"/>',
    '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nSECRET\r\n--b--',
    'preamble\r\n--b\r\ncontent-DISPOSITION: form-data; name="password"\r\n\r\nSECRET',
    "user: ann\npassword: SECRET\n",
    'mutation { login(user: "ann", password: "SECRET") { id } }',
    'data={"password":"SECRET"}',
    '{"inner":"{\\"password\\":\\"SECRET\\"}"}',
    '{"inner":"a=1&password=SECRET"}',
    '{"user":{"credentials":[{"pwd":"SECRET"}]}}',
    "password=" + "a" * 16_000 + "SECRET",
    "&".join(["password=SECRET"] * 100),
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_that_is_not_read_exactly_is_one_secret(make: Any, body: str) -> None:
    """Nearly JSON, XML, MIME parts; what can be read keeps what isn't a secret."""
    once = make(PATTERNS, KEY).redact(orjson.dumps({"fields": {"body": body}}))
    assert b"SECRET" not in once
    assert make(PATTERNS, KEY).redact(once) == once


@pytest.mark.parametrize(
    ("name", "value", "is_queried", "is_secret"),
    [
        ("code", "483920", False, True),
        ("code", "404", False, False),
        ("code", "404", True, True),
        ("code", "a b", True, False),
        ("code", "NOT_FOUND", False, False),
        ("key", "a", True, True),
        ("key", "user.name", False, False),
        ("key", "kP4tB9wQ7xV2mZ1cL8sD", False, True),
        ("acme_key", "kP4tB9wQ7xV2mZ1cL8sD", False, True),
        ("acme_key", "blue", True, False),
        ("sort_key", "kP4tB9wQ7xV2mZ1cL8sD", True, False),
    ],
)
def test_names_of_which_some_values_are_secrets(
    make: Any, name: str, value: str, is_queried: bool, is_secret: bool
) -> None:
    """A short name that means many things is a secret in a query, or where its value looks
    generated."""
    members = {name: value}
    event = {"request": {"query_params": members}} if is_queried else {"fields": members}
    assert (redacted(make, event) != event) is is_secret


def test_a_value_that_shows_itself_is_a_secret_under_any_name(make: Any) -> None:
    """The value alone is hashed, under the name of the member it is in."""
    event = {"fields": {"note": "paid by 4111 1111 1111 1111 at 9", "n": 4111111111111111}}
    assert redacted(make, event) == {
        "fields": {
            "note": f"paid by {hashed('note', '4111 1111 1111 1111')} at 9",
            "n": hashed("n", "4111111111111111"),
        }
    }


def test_the_tenant_may_ask_for_values_that_show_themselves(make: Any) -> None:
    """A name after `!` keeps its values in clear, also one that shows itself."""
    event = {"fields": {"order": "4111111111111111", "n": 4111111111111111, "password": "x"}}
    assert redacted(make, event, ["!order", "!n", "!password"]) == event


@pytest.mark.parametrize(
    "text",
    [
        "eyJ" * 5_000,
        "eyJ-" * 4_000,
        "eyJ." * 4_000,
        "basic+" * 2_700,
        "bearer " * 2_300,
        "-----BEGIN A-----" * 900,
        "-----BEGIN CERTIFICATE-----" * 600,
        "4111 " * 3_200,
        "key=" * 4_000 + "(",
        "key:" * 4_000 + " " * 300,
        "a:" * 8_000,
        ' "' * 8_000,
        " --pin" * 2_700,
        "<a" * 8_000,
        ">" + " " * 16_000,
        "pin_" * 4_000 + "=x",
        "newnewnewnewnewnewnewnewnewpinx." * 500 + "=x",
    ],
)
def test_the_time_for_a_text_is_linear(make: Any, text: str) -> None:
    """A text of 16 KiB made to be slow takes little time in the reference too, and both agree."""
    body = orjson.dumps({"fields": {"a": text[:16_000], "body": text[:16_000]}})
    start = time.process_time()
    once = make(PATTERNS, KEY).redact(body)
    assert time.process_time() - start < 3
    assert once == redact.Redactor(PATTERNS, KEY).redact(body)


@pytest.mark.parametrize(
    "text", ["[::1]:80", "[vip]", "a {b}", "100% ok", "%zz", "a@b.c", "q=0.9;v=1"]
)
def test_texts_that_only_look_like_more_stay(make: Any, text: str) -> None:
    """No bracket, sign or percent by itself makes a secret."""
    event = {"request": {"headers": {"x": text}}, "fields": {"n": text}}
    assert redacted(make, event) == event


def test_a_value_that_is_redacted_stays(make: Any) -> None:
    """Redacting a redacted event changes nothing."""
    hash_ = hashed("password", "x")
    event = {"fields": {"password": hash_, "body": f"a=1&password={hash_}"}}
    assert redacted(make, event) == event


def test_numbers_stay_to_the_digit_and_blanks_go(make: Any) -> None:
    """Numbers keep their digits and blanks are dropped, so the stored event decides alike."""
    body = b'{ "fields" : { "n" : [ 1.50 , -0, 1e400 ] , "t" : "\\u00e9\\/\\u0001" } }'
    expected = '{"fields":{"n":[1.50,-0,1e400],"t":"é/\\u0001"}}'
    assert make(PATTERNS, KEY).redact(body) == expected.encode()


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"a":1,"a":2}', b"{}" + b" " * 65_536, b'"\xff"'])
def test_what_is_no_event_is_refused(make: Any, body: bytes) -> None:
    """A text that is not an event is refused, since nothing unread may be stored."""
    with pytest.raises(EventError):
        make(PATTERNS, KEY).redact(body)


@settings(max_examples=200)
@given(shapes, patterns)
def test_both_redact_generated_shapes_alike(event: Any, chosen: list[str]) -> None:
    """Both redactors give the same bytes for generated shapes."""
    body = orjson.dumps(event)
    expected = redact.Redactor(chosen, KEY).redact(body)
    assert native.Redactor(chosen, KEY).redact(body) == expected


@settings(max_examples=200)
@given(event_bytes())
def test_both_redact_generated_events_alike(body: bytes) -> None:
    """Both redactors redact or refuse generated events alike."""
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
    for event in shared_lines("data/traffic/events.jsonl.gz", step=1_000):
        body = orjson.dumps(event)
        assert ours.redact(body) == reference.redact(body)


@settings(max_examples=1_000)
@given(
    st.lists(
        st.sampled_from(families.entries("stems") + families.entries("words"))
        | st.sampled_from([*families.named("guarded"), *families.named("led"), "name", "zebra"])
        | st.sampled_from(
            ["-", "_", ".", " ", "[", "]", "%2D", "9", "A", "b", "\u200b", "é", "Ｐ", "Σ"]
        )
        | st.text(max_size=3),
        max_size=5,
    ).map("".join)
)
def test_both_take_generated_names_alike(name: str) -> None:
    """Both redactors take the same names for those of secrets."""
    body = orjson.dumps({"fields": {name: "kP4tB9wQ7xV2mZ1cL8sD", "body": f"{name}=x&y"}})
    expected = redact.Redactor([], KEY).redact(body)
    assert native.Redactor([], KEY).redact(body) == expected


AROUND = st.lists(
    st.sampled_from(
        [" ", ":", "=", "&", "/", "?", "\u2028", "\x85", "é", "_", "-", ".", "<", ">", "{", "%3A",
         "k", "hmac:", "password", "token=", "hmac", "0", "\\", "--"]
    )
    | st.text(st.characters(codec="utf-8", exclude_characters="\"'"), max_size=2),
    max_size=4,
).map("".join)  # fmt: skip


@settings(max_examples=300)
@given(
    AROUND,
    st.sampled_from(
        ["4111111111111111", "4012 8888 8888 1881", "AKIAIOSFODNN7EXAMPLE", "Bearer abc123def",
         "eyJhbGciOiJIUzI1NiJ9.e30.x", "https://u:p@h/", "password=x", "kP4tB9wQ7xV2mZ1cL8sD"]
    ),
    AROUND,
)  # fmt: skip
def test_redacting_generated_texts_twice_changes_nothing(
    before: str, secret: str, after: str
) -> None:
    """A text that was redacted stays as it is, wherever its hash stands but next to a quote."""
    text = f"{before}{secret}{after}"
    body = orjson.dumps({"request": {"path": text, "headers": {"x": text}}, "fields": {"n": text}})
    once = redact.Redactor([], KEY).redact(body)
    assert redact.Redactor([], KEY).redact(once) == once
    assert native.Redactor([], KEY).redact(body) == once
    assert native.Redactor([], KEY).redact(once) == once
