"""The envelope of an event, read before the decision; it defines the native one."""

from __future__ import annotations

import json

import pytest

from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate.evaluation.envelope import admit, envelope
from tidegate.evaluation.rules import Evaluator
from tidegate.language.tree.schema import Schema
from tidegate.program import compile


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
        (b'{"reqest":{},"z":1}', ("reqest",)),
        ({"request": {"other": 1}, "z": 1}, ("request", "other")),
        (b'{"request":{"path":"/","paht":"/"}}', ("request", "paht")),
        ({"request": {"path": "/"}, 5: 1}, ("5",)),
        (b'{"request":{"headers":{"z":"1"},"cookies":{"z":"1"}}}', None),
        (b'{"source":"a","fields":{"z":1},"tenant_id":"t"}', None),
    ],
)
def test_the_first_unknown_member_is_named(event: object, unknown: tuple[str, ...] | None) -> None:
    """An event and its ``request`` have known members; ``fields`` and the maps may have any."""
    assert envelope(event).unknown == unknown  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("paht", "path"),
        ("clientip", "client_ip"),
        ("clientIp", "client_ip"),
        ("User-Agent", "user_agent"),
        ("query_param", "query_params"),
        ("metod", "method"),
        ("ip", None),
        ("tls", None),
    ],
)
@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_a_misspelt_member_of_a_request_is_refused(
    evaluator: Evaluator, name: str, meant: str | None
) -> None:
    """An unknown member of ``request`` is refused under ``strict``, with the one that was meant."""
    engine = Engine({"apiVersion": "tidegate/v1"}, evaluator)
    lenient = Engine({"apiVersion": "tidegate/v1"}, evaluator, events="lenient")
    event = {"request": {"method": "GET", name: "x"}}
    hint = f"did you mean `{meant}`?" if meant else "its members are `method`, "
    for form in (event, json.dumps(event).encode()):
        with pytest.raises(EventError) as refused:
            engine.decide(form)
        assert refused.value.pointer == f"/request/{name}"
        assert f"`request` has no such member; {hint}" in refused.value.message
        lenient.decide(form)


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_a_declared_member_of_a_request_is_known(evaluator: Evaluator) -> None:
    """A variable that is declared below ``request`` is a member of it."""
    schema = Schema.default().with_variables({"request.tls.version": "string"})
    program = compile('request.tls.version == "1.3"', schema=schema, evaluator=evaluator)
    event = {"request": {"tls": {"version": "1.3"}}}
    for form in (event, json.dumps(event).encode()):
        assert program.evaluate(program.prepare(form, events="strict")) is True


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


@pytest.mark.parametrize("evaluator", ["native", "reference"])
@pytest.mark.parametrize(
    ("text", "is_unreadable"),
    [
        (b"", True),
        (b"{", True),
        (b"\xff", True),
        (b'{"fields":{"a":NaN}}', True),
        (b'{"fields":{},"fields":{}}', True),
        (b'{"request":4,"fields":{"a":x}}', True),
        (b'{"a":"' + b"a" * 70_000 + b'"}', True),
        (b'"' + b"a" * 20_000 + b'"', True),
        (b"[]", False),
        (b" 4", False),
        (b'{"request":4}', False),
        (b'{"fields":{"a":"' + b"a" * 20_000 + b'"}}', False),
        (b'{"fields":{"a":"b"},"return_url":"x"}', False),
    ],
)
def test_an_error_says_whether_the_text_can_be_read(
    evaluator: Evaluator, text: bytes, is_unreadable: bool
) -> None:
    """An error says whether the text as a whole cannot be read, whatever its message."""
    engine = Engine({"apiVersion": "tidegate/v1"}, evaluator)
    with pytest.raises(EventError) as raised:
        engine.decide(text)
    assert raised.value.is_unreadable is is_unreadable
