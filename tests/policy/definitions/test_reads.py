"""The members of an event that expressions read, and what a redactor keeps by them."""

from __future__ import annotations

from typing import Any, Literal

import orjson
import pytest
from building import START, document, policy

from tidegate.engine import Engine
from tidegate.evaluation import redact
from tidegate.evaluation.encoder import encode, sources
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import FIELD_MODEL, Schema
from tidegate.policy.definitions.reads import reads
from tidegate.policy.definitions.redaction import Redaction
from tidegate.policy.document import read_document

KEY = b"k" * 32
EVALUATORS: tuple[Literal["native"], Literal["reference"]] = ("native", "reference")
EVENT = {
    "source": "edge",
    "observed_at": "2026-03-02T00:00:00Z",
    "request": {
        "method": "post",
        "path": "/a/b.html",
        "headers": {
            "Host": "Shop.example:80",
            "User-Agent": "Googlebot/2.1",
            "Referer": "https://shop.example/x",
            "Content-Type": "text/html",
            "X-Forwarded-For": "192.0.2.7",
            "X-App": "7",
        },
        "query_params": {"q": "1"},
        "cookies": {"theme": "dark"},
        "route_params": {"id": "5"},
    },
    "fields": {"plan": "free", "body": '{"a":[{"b":1}]}'},
}


@pytest.mark.parametrize(
    ("text", "paths", "whole"),
    [
        ('request.headers["X-App"] == "a"', {"request.headers.x-app"}, set()),
        ('request.headers[?"x-app"].orValue("") == "a"', {"request.headers.x-app"}, set()),
        ('fields.plan == "a" || has(fields.note)', {"fields.plan", "fields.note"}, set()),
        ('"q" in request.query_params', {"request.query_params.q"}, set()),
        ('request.route_params["a.b"] == ""', {"request.route_params.a.b"}, set()),
        ("request.body.a[0].b == 1", {"fields.body.a.b"}, set()),
        ('request.body["a"].exists(x, x.b == 1)', {"fields.body.a"}, set()),
        ('"x" in request.body.tags', {"fields.body.tags"}, set()),
        ("has(request.body) && has(request.body.a.b)", {"fields.body.a.b"}, set()),
        ("derived.is_bot", {"request.headers.user-agent"}, set()),
        ('request.client_ip == "192.0.2.1"', {"request.headers.x-forwarded-for"}, set()),
        ('request.path == "/" && request.method == "GET" && source == "s"', set(), set()),
        (
            'cel.bind(m, request.headers, m["x"]) == fields["y"]',
            {"request.headers", "fields.y"},
            {"request.headers"},
        ),
        (
            'request.query_params.exists(k, k == "x")',
            {"request.query_params"},
            {"request.query_params"},
        ),
        (
            'fields[request.headers["name"]] == "a"',
            {"fields", "request.headers.name"},
            {"fields"},
        ),
        ("size(request.cookies) > 3", {"request.cookies"}, {"request.cookies"}),
        ("request.body == 5", {"fields.body"}, {"request.body"}),
        ("5 in request.body", {"fields.body"}, {"request.body"}),
    ],
)
def test_members_are_told_by_the_names_that_an_expression_writes(
    text: str, paths: set[str], whole: set[str]
) -> None:
    """A name that is written is read alone; any other use of a map reads all of it."""
    found = list(reads(check(text, Schema.default()).root))
    assert {".".join(each.path) for each in found} == paths
    assert {each.node.name for each in found if each.node is not None} == whole


@pytest.mark.parametrize("name", FIELD_MODEL)
def test_a_field_that_is_read_has_its_value_in_the_kept_event(name: str) -> None:
    """Every field of the model that isn't a secret is the same in the event that is kept for it."""
    if name == "request.cookies":
        assert sources(name) == {("request", "cookies")}
        return
    body = orjson.dumps(EVENT)
    kept = redact.Redactor([], KEY, sources(name)).redact(body)
    given = {"variables": FIELD_MODEL}
    assert encode(kept, [name], **given) == encode(body, [name], **given)
    assert b"192.0.2.7" not in kept or ("request", "headers") in {
        each[:2] for each in sources(name)
    }


def _document(*clauses: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return document(
        actions=[{"name": "Search", "expression": 'request.query_params["q"] == "1"'}],
        entities=[{"name": "App", "key_fields": ['request.headers["x-app"]']}],
        policies=[policy(*clauses)],
        settings={"keep_only_read": True, **settings},
    )


def test_only_expressions_in_force_count() -> None:
    """Drafts, disabled objects and clauses that can't fire read nothing."""
    made = document(
        actions=[{"name": "Off", "enabled": False, "expression": 'fields.a == "1"'}],
        entities=[
            {"name": "Off", "enabled": False, "key_fields": ["fields.b"]},
            {"name": "On", "key_fields": ["fields.c"], "match_expression": 'fields.d == "1"'},
        ],
        policies=[
            policy(
                {"name": "one", "actions": ["off"], "expression": 'fields.e == "1"'},
                {
                    "name": "two",
                    "expression": 'fields.f == "1"',
                    "entity": "on",
                    "window": {
                        "duration_seconds": 60,
                        "threshold": 2,
                        "measure": "distinct",
                        "field": "fields.g",
                    },
                },
                expression='fields.h == "1"',
            ),
            policy({"name": "one", "expression": 'fields.i == "1"'}, name="Draft", status="draft"),
        ],
        settings={"keep_only_read": True},
    )
    redaction = Redaction.of(read_document(made).compiled)
    host = ("request", "headers", "host")
    assert redaction.read == {host, *(("fields", each) for each in "cdfgh")}
    assert redaction.keeps(("fields", "c"))
    assert not redaction.keeps(("fields", "a"))


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_an_engine_keeps_what_its_definitions_read(
    evaluator: Literal["native", "reference"],
) -> None:
    """It decides on the event as it came; other definitions keep other members."""
    before = Engine(
        _document({"name": "plan", "expression": 'fields.plan == "free"'}),
        evaluator,
        redaction_key=KEY,
        events="any",
    )
    made = before.decide(EVENT, START)
    assert made.entities[0].key == ("7",)
    assert before.redactor is not None
    kept = orjson.loads(before.redactor.redact(orjson.dumps(EVENT)))
    assert kept["request"]["headers"]["X-App"] == "7"
    assert kept["request"]["query_params"] == {"q": "1"}
    assert kept["fields"]["plan"] == "free"
    hidden = [kept["request"]["headers"]["User-Agent"], kept["fields"]["body"]]
    assert all(each.startswith("hmac:") for each in hidden)
    after = before.with_definitions(_document({"name": "bot", "expression": "derived.is_bot"}))
    assert after.redactor is not None
    kept = orjson.loads(after.redactor.redact(orjson.dumps(EVENT)))
    assert kept["request"]["headers"]["User-Agent"] == "Googlebot/2.1"
    assert kept["fields"]["plan"].startswith("hmac:")
    assert after.decide(EVENT, START + 1).entities[0].key == ("7",)


def test_a_map_that_is_read_whole_is_kept_and_named_in_a_warning() -> None:
    """The warning has the place of the expression and the map, and needs the setting."""
    clause = {"name": "any", "expression": 'request.query_params.exists(k, k == "x")'}
    compilation = read_document(_document(clause))
    (found,) = [each for each in compilation.findings if each.code == "keeps-whole-map"]
    assert found.severity == "warning"
    assert found.pointer == "/policies/0/clauses/0/expression"
    slug = compilation.compiled.policies[0].slug
    assert f"`policies.{slug}.clauses[0].expression`" in found.message
    assert "`request.query_params`" in found.message
    redactor = Redaction.of(compilation.compiled).redactor(redact.Redactor, KEY)
    kept = orjson.loads(redactor.redact(b'{"request":{"query_params":{"a":"1","pin":"2"}}}'))
    assert kept["request"]["query_params"]["a"] == "1"
    assert kept["request"]["query_params"]["pin"].startswith("hmac:")
    silent = read_document(_document(clause, keep_only_read=False))
    assert "keeps-whole-map" not in {each.code for each in silent.findings}


def test_the_warning_comes_and_goes_with_the_setting() -> None:
    """A set that is compiled after another one has the warnings of its own settings."""
    clause = {"name": "any", "expression": "size(request.headers) > 50"}
    off = read_document(_document(clause, keep_only_read=False))
    on = read_document(_document(clause), off)
    assert {each.code for each in on.findings} - {each.code for each in off.findings} == {
        "keeps-whole-map"
    }
    assert read_document(_document(clause, keep_only_read=False), on).findings == off.findings
