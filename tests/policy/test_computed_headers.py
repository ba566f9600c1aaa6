"""Headers of a block with the values of expressions, in both evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest
from building import START, Build, document, event, policy

from tidegate.decider import Block
from tidegate.definitions import load_compiled, load_definitions
from tidegate.engine import Engine
from tidegate.errors import DefinitionsError
from tidegate.limits import DEFAULT

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator
    from tidegate.policy.definitions.findings import Finding

PRICE = 'request.method == "GET" ? "USD 0.01" : ""'
PLACE = "mitigations.pay.block.computed_headers."


def selling(computed: dict[str, str], **block: Any) -> dict[str, Any]:
    """Sections that answer every event with 402 and these computed headers."""
    answer = {"status_code": 402, "computed_headers": computed, **block}
    pay = {"name": "Pay", "mode": "Block", "ttl_seconds": 0, "block": answer}
    return {"mitigations": [pay], "policies": [policy({"name": "c", "mitigation": "pay"})]}


def headers_of(decision: Any) -> dict[str, str]:
    """The headers of a decision that blocks."""
    assert isinstance(decision.action, Block)
    return dict(decision.action.headers)


def codes(caught: pytest.ExceptionInfo[DefinitionsError]) -> set[str]:
    """The codes of the errors of a refused document."""
    findings = cast("tuple[Finding, ...]", caught.value.diagnostics)
    return {each.code for each in findings if each.severity == "error"}


def test_a_block_has_the_values_of_its_expressions(build: Build) -> None:
    """A block has its plain headers, and those that expressions compute from the event."""
    link = '"<https://shop.example/licence?path=" + request.path + ">; rel=\\"license\\""'
    engine = build(**selling({"crawler-price": PRICE, "link": link}, headers={"x-a": "b"}))
    decision = engine.decide(event("/news"), START)
    assert decision.action == Block(
        402,
        "",
        {
            "x-a": "b",
            "crawler-price": "USD 0.01",
            "link": '<https://shop.example/licence?path=/news>; rel="license"',
        },
    )
    assert not decision.errors


def test_an_empty_value_leaves_the_header_out(build: Build) -> None:
    """A header whose value is empty isn't sent, and this isn't an error."""
    engine = build(**selling({"crawler-price": PRICE}))
    made = event("/news")
    made["request"]["method"] = "POST"
    decision = engine.decide(made, START)
    assert (headers_of(decision), dict(decision.errors)) == ({}, {})


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ('"a\\r\\nset-cookie: b"', "invalid_argument"),
        ('"a\\u0000"', "invalid_argument"),
        ('"price \\u20ac"', "invalid_argument"),
        ('" blank"', "invalid_argument"),
        ('"blank "', "invalid_argument"),
        ("fields.long", "invalid_argument"),
        ("string(1 / int(fields.zero))", "divide_by_zero"),
    ],
)
def test_an_expression_that_fails_leaves_out_its_header_alone(
    build: Build, expression: str, code: str
) -> None:
    """An expression without a value that can be sent leaves its header out and is recorded."""
    engine = build(**selling({"x-bad": expression, "crawler-price": PRICE}))
    more = {"long": "x" * 4_097, "zero": 0}
    decision = engine.decide(event("/news", fields=more), START)
    assert headers_of(decision) == {"crawler-price": "USD 0.01"}
    assert dict(decision.errors) == {f"{PLACE}x-bad": code}


def test_the_longest_value_is_sent(build: Build) -> None:
    """A value of 4,096 characters is sent."""
    engine = build(**selling({"x-long": "fields.long"}))
    decision = engine.decide(event("/", fields={"long": "x" * 4_096}), START)
    assert headers_of(decision) == {"x-long": "x" * 4_096}


def test_headers_read_matched_actions(build: Build) -> None:
    """An expression of a header sees which actions matched."""
    sections = selling({"x-news": 'actions.news ? "yes" : "no"'})
    action = {"name": "News", "expression": 'request.path == "/news"'}
    engine = build(actions=[action], **sections)
    decisions = [engine.decide(event(path), START) for path in ("/news", "/")]
    assert [headers_of(each)["x-news"] for each in decisions] == ["yes", "no"]


def test_only_the_answer_computes_headers(build: Build) -> None:
    """A block that isn't the answer computes nothing, so its expressions can't fail."""
    sections = selling({"x-bad": "string(1 / size(fields.missing))"})
    first = {"name": "First", "mode": "Block", "ttl_seconds": 0}
    sections["mitigations"].append(first)
    sections["policies"].insert(0, policy({"name": "f", "mitigation": "first"}, name="A"))
    assert not build(**sections).decide(event("/"), START).errors


def test_an_explanation_shows_the_expressions_of_headers(build: Build) -> None:
    """An explanation has each header's expression with its value."""
    engine = build(**selling({"crawler-price": PRICE}))
    explanation = engine.explain(event("/"), START)
    assert [(each.place, each.value) for each in explanation.headers] == [
        (f"{PLACE}crawler-price", '"USD 0.01"')
    ]
    assert '= "USD 0.01"' in str(explanation).partition("headers\n")[2]


def test_a_change_of_policies_keeps_the_headers(build: Build) -> None:
    """Headers read their fields after policies changed, though no policy reads these fields."""
    sections = selling({"x-agent": "request.user_agent"})
    engine = build(**sections)
    for number in range(3):
        clause = {"name": f"c{number}", "mitigation": "pay"}
        sections["policies"] = [policy(clause, name=f"P{number}")]
        changed = load_definitions(document(**sections))
        engine = engine.with_definitions(changed)
        made = event("/")
        made["request"]["user_agent"] = "Probe/1"
        assert headers_of(engine.decide(made, START)) == {"x-agent": "Probe/1"}


@pytest.mark.parametrize(
    "name", ["Transfer-Encoding", "content-length", "set-cookie", "a b", "x\r\ny", "__proto__", ""]
)
def test_names_of_computed_headers_are_those_that_may_be_set(name: str) -> None:
    """A computed header can't have a name that a plain one can't have."""
    with pytest.raises(DefinitionsError) as caught:
        load_definitions(document(**selling({name: '"1"'})))
    assert codes(caught) == {"invalid-header"}


def test_a_header_is_given_once() -> None:
    """A header is plain or computed, and is computed once, whatever the case of its name."""
    for headers, plain in (({"X-A": '"1"', "x-a": '"2"'}, {}), ({"X-A": '"1"'}, {"x-a": "2"})):
        with pytest.raises(DefinitionsError, match="given twice"):
            load_definitions(document(**selling(headers, headers=plain)))


def test_a_header_is_a_string() -> None:
    """An expression that isn't a string is refused, and so are more than four."""
    with pytest.raises(DefinitionsError) as caught:
        load_definitions(document(**selling({"x-a": "1 + 1"})))
    assert "wrong-result-type" in codes(caught)
    with pytest.raises(DefinitionsError, match="5 names, but at most 4"):
        load_definitions(document(**selling({f"x-{at}": '"1"' for at in range(5)})))


def test_a_value_of_a_secret_is_warned_about() -> None:
    """A header that reads a secret has a warning: its value is stored and sent as a keyed hash."""
    read = load_compiled(document(**selling({"x-a": 'request.headers["authorization"]'})))
    assert [each.code for each in read.findings] == ["secret-in-header"]


def test_a_secret_is_sent_and_stored_as_its_hash(evaluator: Evaluator) -> None:
    """With a redaction key, a header that reads a secret has its keyed hash."""
    sections = document(**selling({"x-a": 'request.headers["authorization"]'}))
    engine = Engine(sections, evaluator=evaluator, redaction_key=bytes(32))
    made = event()
    made["request"]["headers"] = {"authorization": "Bearer Zm9vYmFyMTIz"}
    for text in (engine.decide_json(orjson.dumps(made), START), engine.decide(made, START)):
        shown = text if isinstance(text, bytes) else text.to_json()
        assert b"Zm9v" not in shown
        assert b'"x-a":"hmac:' in shown, shown


def test_headers_cost_a_fraction_of_a_decision() -> None:
    """The headers of an answer, next to the budget, take at most an eighth of it."""
    assert 4 * DEFAULT.cost <= DEFAULT.decision_work / 7
