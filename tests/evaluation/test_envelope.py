"""What is known of an event before it is decided on: the definition of the native one."""

from __future__ import annotations

import json

import pytest

from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate.evaluation.envelope import admit, envelope


def outcome(body: bytes) -> tuple[object, ...]:
    try:
        made = envelope(body)
    except EventError as error:
        return ("refused", error.pointer)
    return (made.idempotency_key, made.tenant_id, made.source, made.empty)


def test_members_about_the_event_are_taken_out() -> None:
    """Members about the event are read, and null counts as absent."""
    body = b'{"idempotency_key":"k\\n","tenant_id":null,"source":"","request":{"path":"/"}}'
    assert outcome(body) == ("k\n", None, "", False)


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        ("{}", True),
        ('{"request":null,"fields":{}}', True),
        ('{"request":{"path":null,"other":null},"fields":{"a":null}}', True),
        ('{"source":"x","other":{"a":1}}', True),
        ('{"request":{"headers":{}}}', False),
        ('{"request":{"other":0}}', False),
        ('{"fields":{"a":""}}', False),
        ('{"fields":{"body":{}}}', False),
    ],
)
def test_an_event_is_empty_without_request_and_fields(text: str, empty: bool) -> None:
    """An event without a member that is not null in `request` or `fields` is empty."""
    assert outcome(text.encode())[3] is empty


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        (b"[]", ""),
        (b"{", ""),
        (b'{"source":1}', "/source"),
        (b'{"idempotency_key":{}}', "/idempotency_key"),
        (b'{"tenant_id":[]}', "/tenant_id"),
        (b'{"request":{"method":1}}', "/request/method"),
        (b'{"source":"a","source":"b"}', ""),
        (b'{"observed_at":"now"}', "/observed_at"),
        (b" " * 65_537, ""),
    ],
)
def test_what_a_decision_would_refuse_is_refused(text: bytes, pointer: str) -> None:
    """An event that a decision would refuse is refused with the same pointer."""
    assert outcome(text) == ("refused", pointer)


@pytest.mark.parametrize(
    ("event", "unknown"),
    [
        (b'{"reqest":{},"z":1}', "reqest"),
        ({"request": {"other": 1}, "z": 1}, "z"),
        ({"request": {"path": "/"}, 5: 1}, "5"),
        (b'{"source":"a","fields":{"z":1},"tenant_id":"t"}', None),
    ],
)
def test_the_first_unknown_member_is_named(event: object, unknown: str | None) -> None:
    """At the top of an event unknown members are named; ``request`` and ``fields`` may have any."""
    assert envelope(event).unknown == unknown  # type: ignore[arg-type]


def test_an_strictness_refuses_what_it_says() -> None:
    """``strict`` unknown members and nothing at all, ``lenient`` the latter, ``any`` neither."""
    unknown, empty = b'{"request":{"path":"/"},"z":1}', b'{"source":"edge"}'
    admit(unknown, "lenient")
    admit(unknown, "any")
    admit(empty, "any")
    with pytest.raises(EventError, match="no such member") as refused:
        admit(unknown, "strict")
    assert refused.value.pointer == "/z"
    for strictness in ("strict", "lenient"):
        with pytest.raises(EventError, match="must hold something"):
            admit(empty, strictness)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("", True),
        ("https://shop.test", True),
        ("HTTP://shop.test:8080/a?b=://c#d", True),
        ("https://b\u00fccher.test/", True),
        ("https://shop.test/a b\\n\n", True),
        ("https://shop.test\\", True),
        ("https://shop test/", False),
        ("javascript:alert(1)", False),
        ("javascript://shop.test/%0aalert(1)", False),
        ("//shop.test/", False),
        ("/login", False),
        ("https:shop.test", False),
        ("https://", False),
        ("https:///shop.test", False),
        ("https://?a", False),
        (" https://shop.test", False),
        ("https://shop.test\n", False),
    ],
)
def test_a_return_url_leads_to_a_page(url: str, is_one: bool) -> None:
    """Both engines take an absolute http or https URL; what was recorded is taken as it is."""
    document = {"apiVersion": "tidegate/v1"}
    event = {"request": {"path": "/"}, "return_url": url}
    for form in (event, json.dumps(event).encode()):
        admit(form, "any")
        for decide in (lambda form: admit(form, "strict"), Engine(document).decide):
            if is_one:
                decide(form)
                continue
            with pytest.raises(EventError) as refused:
                decide(form)
            assert refused.value.pointer == "/return_url"
