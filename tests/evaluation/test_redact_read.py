"""The parts that a redactor keeps if it knows the members that are read, the same from both."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.redacted_shapes import names, patterns, shapes
from tests.evaluation.test_redact import KEY, hashed

from tidegate.evaluation import native, redact


@pytest.fixture(params=[redact.Redactor, native.Redactor])
def make(request: pytest.FixtureRequest) -> Any:
    return request.param


paths = st.lists(
    st.sampled_from(
        [
            ["request", "headers"],
            ["request", "query_params"],
            ["request", "cookies", "a"],
            ["fields", "body"],
            ["fields"],
            ["b", "a"],
        ]
    )
    | st.tuples(
        st.sampled_from(
            [["request", "headers"], ["request", "query_params"], ["fields", "body"], ["fields"]]
        ),
        st.lists(names, min_size=1, max_size=3),
    ).map(lambda each: [*each[0], *each[1]]),
    max_size=4,
)


@settings(max_examples=400)
@given(shapes, patterns, paths)
def test_both_keep_the_same_parts_of_generated_shapes(
    event: Any, chosen: list[str], read: list[list[str]]
) -> None:
    """Both redactors keep the same members of those that are read, and twice is as once."""
    body = orjson.dumps(event)
    expected = redact.Redactor(chosen, KEY, read).redact(body)
    assert native.Redactor(chosen, KEY, read).redact(body) == expected
    assert native.Redactor(chosen, KEY, read).redact(expected) == expected


READ = [
    ["request", "headers", "x-app"],
    ["request", "query_params", "q"],
    ["request", "query_params", "token"],
    ["request", "cookies", "sid"],
    ["fields", "note"],
    ["fields", "body", "user", "id"],
]


def kept(make: Any, event: Any, *patterns: str) -> Any:
    return orjson.loads(make(list(patterns), KEY, READ).redact(orjson.dumps(event)))


def test_only_members_that_are_read_are_kept(make: Any) -> None:
    """Members at other places, with the same name or with none that is known, are hashes."""
    event = {
        "source": "edge",
        "x-app": 1,
        "request": {
            "path": "/a",
            "x-app": True,
            "headers": {"X-App": ["a", "b"], "q": "1", "note": None},
            "query_params": {"q": "1", "x-app": "2"},
            "route_params": {"q": "1"},
        },
        "fields": {"note": {"a": "b"}, "q": 1.50, "list": [1, {"a": "b"}]},
    }
    assert kept(make, event) == {
        "source": "edge",
        "x-app": hashed("x-app", "1"),
        "request": {
            "path": "/a",
            "x-app": hashed("x-app", "true"),
            "headers": {"X-App": ["a", "b"], "q": hashed("q", "1"), "note": None},
            "query_params": {"q": "1", "x-app": hashed("x-app", "2")},
            "route_params": {"q": hashed("q", "1")},
        },
        "fields": {
            "note": {"a": "b"},
            "q": hashed("q", "1.5"),
            "list": hashed("list", '[1,{"a":"b"}]'),
        },
    }


def test_a_secret_that_is_read_stays_a_secret(make: Any) -> None:
    """Names of secrets, values that show themselves and cookies; `!` keeps what isn't read."""
    key = "AKIAIOSFODNN7EXAMPLE"
    event = {
        "request": {
            "query_params": {"token": "t", "q": f"a {key}"},
            "cookies": {"sid": "s"},
            "headers": {"x-other": "o"},
        },
        "fields": {"note": "password=x", "pin": "1"},
    }
    assert kept(make, event, "!x-other", "!pin") == {
        "request": {
            "query_params": {"token": hashed("token", "t"), "q": f"a {hashed('q', key)}"},
            "cookies": {"sid": hashed("sid", "s")},
            "headers": {"x-other": "o"},
        },
        "fields": {"note": f"password={hashed('password', 'x')}", "pin": "1"},
    }


@pytest.mark.parametrize("as_text", [False, True])
def test_of_a_body_only_the_members_that_are_read_are_kept(make: Any, as_text: bool) -> None:
    """Whether the body is an object, or JSON in a text; an array is its elements."""
    body = [{"user": {"id": 5, "name": "ann"}, "user.id": 6}, 7]
    expected = [
        {
            "user": {"id": 5, "name": hashed("name", "ann")},
            "user.id": hashed("user.id", "6"),
        },
        hashed("body" if not as_text else "", "7"),
    ]
    given = orjson.dumps(body).decode() if as_text else body
    made = kept(make, {"fields": {"body": given}})["fields"]["body"]
    assert (orjson.loads(made) if as_text else made) == expected


@pytest.mark.parametrize("body", ["user=5&id=6", "5", "{", "<user/>", '{"user":1,"user":2}'])
def test_a_body_that_is_no_json_is_not_kept_for_a_member_of_it(make: Any, body: str) -> None:
    """It has no such member."""
    assert kept(make, {"fields": {"body": body}}) == {"fields": {"body": hashed("body", body)}}


@pytest.mark.parametrize("place", ["path", "referer", "return_url"])
def test_a_query_in_a_link_keeps_the_parameters_that_are_read(make: Any, place: str) -> None:
    """Other values are hashes, and so are parts without a name; the names stay."""
    text = "/a;v=1?q=1&Q=2&%71=3&q&flag&token=t&hmac#top"
    of = {"return_url": text} if place == "return_url" else {"request": {place: text}}
    made = kept(make, of)
    link = made["return_url"] if place == "return_url" else made["request"][place]
    h = hashed
    assert link == (
        f"/a;v={h('v', '1')}?q=1&Q={h('q', '2')}&%71=3&q&{h(place, 'flag')}"
        f"&token={h('token', 't')}&{h(place, 'hmac')}#{h(place, 'top')}"
    )
    assert kept(make, made) == made
