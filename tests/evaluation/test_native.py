"""The binding of the native evaluator: contexts in, values and errors out."""

from __future__ import annotations

import ipaddress
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from tidegate import values
from tidegate._native import RuleSet
from tidegate.errors import CanonicalFormError, EvaluationError, EventError
from tidegate.evaluation.native import NativeRules
from tidegate.evaluation.rules import bundle
from tidegate.language.check.checker import check
from tidegate.language.tree.ast import Span
from tidegate.language.tree.schema import Schema
from tidegate.values import Duration, Map, OptionalValue, Timestamp, TypeName, UInt

EVENT = {"request": {"method": "POST", "headers": {"Host": "a"}, "user_agent": "Bot"}}
RULES = {
    "post": 'request.method == "POST"',
    "host": 'request.headers["host"] == "a"',
    "bot": 'request.user_agent.lowerAscii().contains("bot")',
    "never": "request.method == ''",
    "broken": "request.body.x == 1",
}


def compiled(texts: dict[str, str], schema: Schema | None = None) -> NativeRules:
    """A set of expressions over a schema, by default the field model."""
    schema = schema or Schema.default()
    return NativeRules(bundle({name: check(text, schema) for name, text in texts.items()}, schema))


def echo(value: Any) -> Any:
    """A value after its way in and out."""
    rules = compiled({"": "x"}, Schema.empty().with_variables({"x": "dyn"}))
    return rules.evaluate(0, {"x": value})


def test_every_form_of_a_context_gives_the_same() -> None:
    """A dict, its JSON, and either of them prepared match the same rules."""
    rules = compiled(RULES)
    as_json = orjson.dumps(EVENT)
    contexts = [EVENT, as_json, rules.prepare(EVENT), rules.prepare(as_json)]
    expected = (["post", "host", "bot"], {"broken": "no_such_field"})
    assert [rules.match(context, True) for context in contexts] == [expected] * 4
    assert rules.match(EVENT, False) == (expected[0], {})


def test_a_prepared_context_belongs_to_its_set() -> None:
    """Slots are numbered by set, so another set's context is refused."""
    with pytest.raises(ValueError, match="another rule set"):
        compiled(RULES).evaluate(0, compiled(RULES).prepare(EVENT))


def test_a_prepared_context_outlives_its_event() -> None:
    """Preparing copies: nothing refers to the event or the set's arena afterwards."""
    rules = compiled(RULES)
    event = {"request": {"method": "PO" + "ST", "headers": {"host": "a"}}}
    prepared = rules.prepare(event)
    event.clear()
    assert [rules.evaluate(0, prepared) for _ in range(3)] == [True, True, True]


def test_an_error_carries_code_and_place() -> None:
    """An evaluation that fails raises with the stable code and the span of the node."""
    with pytest.raises(EvaluationError) as caught:
        compiled({"": "1 + [1, 2][derived.asn + 2]"}).evaluate(0, {})
    assert caught.value.code == "index_out_of_range"
    assert caught.value.span == Span(4, 27)


def test_refused_events_and_numbers() -> None:
    """An invalid event and an unknown rule are errors of their own."""
    rules = compiled(RULES)
    with pytest.raises(EventError):
        rules.match(b'{"request": 1}', False)
    with pytest.raises(EventError):
        rules.match({"request": 1}, False)
    with pytest.raises(IndexError, match="there is no rule 5"):
        rules.evaluate(5, EVENT)
    assert len(rules) == 5


@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        (b"", ""),
        (b"[" * 10_000, ""),
        (b"\xff", ""),
        (b"{}", "/programs"),
        (b'{"programs": [{"id": "a", "version": 9}]}', "/programs/0/version"),
        (b'{"fields": {"x": "lst(int)"}, "programs": []}', "/fields"),
    ],
)
def test_hostile_bundles_are_refused(data: bytes, pointer: str) -> None:
    """A malformed bundle is an error with a pointer to the place."""
    with pytest.raises(CanonicalFormError) as caught:
        RuleSet(data)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "value",
    [
        True,
        -(2**63),
        UInt(2**64 - 1),
        1.5,
        "\x00é\U0001f600",
        b"\xff",
        [1, [None], {"a": [2.0]}],
        {True: 1, 2: "b", UInt(3): 3, "d": {}},
        Timestamp(-1),
        Duration(5),
        TypeName("int"),
        OptionalValue(),
        OptionalValue([OptionalValue(1)]),
        ipaddress.ip_address("192.0.2.1"),
        ipaddress.ip_address("2001:db8::1"),
        ipaddress.ip_interface("10.1.2.3/8"),
        ipaddress.ip_interface("2001:db8::1/32"),
    ],
)
def test_values_come_out_as_they_went_in(value: Any) -> None:
    """Every kind of value crosses the border both ways and keeps its class."""
    found = echo(value)
    assert type(found) is type(value)
    assert found == value


def test_everyday_objects_become_values() -> None:
    """Everyday Python objects come back as the values they stand for."""
    moment = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert echo(moment) == Timestamp(10**9)
    assert echo(timedelta(milliseconds=1)) == Duration(10**6)
    assert echo((1, 2)) == [1, 2]
    assert echo(bytearray(b"a")) == b"a"
    assert echo(ipaddress.ip_network("10.0.0.0/8")) == ipaddress.ip_interface("10.0.0.0/8")
    assert echo(ipaddress.ip_address("::ffff:192.0.2.1")) == ipaddress.ip_address("192.0.2.1")


def test_a_map_that_a_dict_would_merge_stays_a_map() -> None:
    """``True`` and ``1`` are two keys of the language and one of a dict."""
    rules = compiled({"": "{true: 'a', 1: 'b'}"})
    found = rules.evaluate(0, {})
    assert isinstance(found, Map)
    assert (found[True], found[1]) == ("a", "b")


@pytest.mark.parametrize("value", [object(), "\ud800", {1.5: 1}, {(): 1}])
def test_what_stands_for_no_value_is_refused(value: Any) -> None:
    """Such a variable refuses the event; nothing is guessed."""
    with pytest.raises(EventError):
        echo(value)


def test_a_value_that_would_be_huge_when_written_is_not() -> None:
    """A list that holds itself a thousandfold, a thousandfold, is refused at the border."""
    text = "[1]"
    for _ in range(8):
        text = f"cel.bind(v, {text}, [v, v, v, v, v, v, v, v])"
    with pytest.raises(ValueError, match=f"more than {values.MAX_PARTS} parts"):
        compiled({"": text}).evaluate(0, {})


def test_threads_share_a_set() -> None:
    """One set and one prepared event serve many threads at once."""
    texts = {str(number): f'request.path.contains("{number}")' for number in range(100)}
    rules = compiled(texts)
    event = orjson.dumps({"request": {"path": "/7/42/99"}})
    prepared = rules.prepare(event)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda n: rules.match(prepared if n % 2 else event, False), range(400))]
    assert all(matched == ["2", "4", "7", "9", "42", "99"] for matched, _ in found)
