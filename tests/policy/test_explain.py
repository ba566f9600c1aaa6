"""Explanations: the same decision, with everything that led to it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from building import ADDRESS, BLOCK, SECOND, START, Build, event, policy
from hypothesis import given
from hypothesis import strategies as st

from tidegate.engine import Engine
from tidegate.errors import EventError, TidegateError
from tidegate.policy.explain.explain import Explanation
from tidegate.policy.explain.parts import ClauseExplanation
from tidegate.policy.explain.shown import show
from tidegate.values import Duration, Map, OptionalValue, Timestamp, UInt

LOGIN = {"name": "Login", "expression": 'request.method == "GET" && request.path == "/login"'}
WINDOW = {"duration_seconds": 60, "threshold": 3}


def engine(build: Build) -> Engine:
    return build(
        actions=[LOGIN, {"name": "Never", "expression": "false", "enabled": False}],
        entities=[ADDRESS, {"name": "User", "key_fields": ['fields["user"]']}],
        mitigations=[BLOCK],
        policies=[
            policy(
                {"name": "window", "actions": ["login"], "entity": "address", "window": WINDOW},
                {"name": "user", "entity": "user"},
                {"name": "condition", "expression": 'size(fields) > 0 && int(fields["n"]) > 1'},
                {"name": "disabled", "actions": ["never"]},
                {
                    "name": "block",
                    "expression": 'request.path == "/block"',
                    "entity": "address",
                    "mitigation": "refuse",
                },
                {"name": "last", "expression": 'request.path == "/last"', "final": True},
                name="P",
            ),
            policy({"name": "after"}, name="Q", expression='source == "edge"'),
        ],
    )


def clause(explanation: Explanation, name: str) -> ClauseExplanation:
    """A clause by its name."""
    found = [one for each in explanation.policies for one in each.clauses if one.name == name]
    return found[0]


def test_an_explanation_changes_nothing(build: Build) -> None:
    """An explanation leaves the state unchanged, however often it is made."""
    made = engine(build)
    made.decide(event("/login"))
    before, stats = made.snapshot(), made.stats()
    made.explain(event("/login"))
    made.explain(event("/block", ip="192.0.2.99"))
    assert (made.snapshot(), made.stats()) == (before, stats)


def test_it_is_the_decision_the_engine_makes_next(build: Build) -> None:
    """Explained first, decided afterwards: the same."""
    made = engine(build)
    for number, path in enumerate(["/login", "/block", "/login", "/", "/login", "/last"]):
        received = START + number * SECOND
        explanation = made.explain(event(path), received)
        assert explanation.decision == made.decide(event(path), received)


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("window", "the window is not reached: 1 of 3 events in 60 s"),
        ("user", "entity `user` does not apply"),
        ("condition", "the condition is false"),
        ("disabled", "it names a disabled action or entity"),
        ("block", "the condition is false"),
        ("after", "the policy is not in scope"),
    ],
)
def test_it_says_why_a_clause_did_not_fire(build: Build, name: str, because: str) -> None:
    """An explanation names the first requirement of a clause that did not hold."""
    explanation = engine(build).explain(event("/login"))
    assert clause(explanation, name).because == because
    assert not clause(explanation, name).fired


def test_it_says_that_an_action_did_not_match(build: Build) -> None:
    """An explanation names an action that did not match."""
    assert clause(engine(build).explain(event("/")), "window").because == (
        "not matched: action `login`"
    )


def test_it_says_what_error_a_condition_was(build: Build) -> None:
    """An explanation gives the code of an error, with carets under the part that raised it."""
    explanation = engine(build).explain(event(fields={"n": "x"}))
    found = clause(explanation, "condition")
    assert found.because == "the condition is an error: invalid_argument"
    assert found.condition is not None
    assert found.condition.excerpt is not None
    line, carets = found.condition.excerpt.split("\n")
    assert line[carets.index("^") : len(carets)] == 'int(fields["n"])'


def test_it_marks_the_part_that_was_false(build: Build) -> None:
    """An explanation marks the operand that decided a chain."""
    (login,) = engine(build).explain(event("/other")).actions
    assert login.expression.excerpt is not None
    line, carets = login.expression.excerpt.split("\n")
    assert line[carets.index("^") : len(carets)] == 'request.path == "/login"'


def test_it_shows_the_value_of_every_node(build: Build) -> None:
    """An explanation shows the value of every node, in the order of evaluation."""
    (login,) = engine(build).explain(event("/login")).actions
    shown = [(step.text, step.value) for step in login.expression.steps]
    assert shown == [
        ('request.method == "GET" && request.path == "/login"', "true"),
        ('request.method == "GET"', "true"),
        ("request.method", '"GET"'),
        ('"GET"', '"GET"'),
        ('request.path == "/login"', "true"),
        ("request.path", '"/login"'),
        ('"/login"', '"/login"'),
    ]


def test_it_shows_the_actor_as_it_was(build: Build) -> None:
    """An explanation shows the count and times of an actor before the event."""
    made = engine(build)
    made.decide(event(at=1))
    made.decide(event(at=2))
    address, user = made.explain(event(at=3)).entities
    assert (address.event_count, address.first_seen_at, address.last_seen_at) == (
        2,
        "2026-03-02T00:00:01.000Z",
        "2026-03-02T00:00:02.000Z",
    )
    assert (user.applies, user.because) == (False, '`fields["user"]` is empty')


def test_it_tells_an_active_mitigation_and_its_end(build: Build) -> None:
    """An explanation shows an active mitigation with its end, and why the clause did not fire by
    itself."""
    made = engine(build)
    made.decide(event("/block"))
    found = clause(made.explain(event("/")), "block")
    assert (found.fired, found.active) == (True, True)
    assert found.active_until == "2026-03-02T00:01:00.000Z"
    assert found.because.endswith("by itself: the condition is false")


def test_it_tells_what_was_not_tried(build: Build) -> None:
    """An explanation lists the clauses that were not tried after a final clause."""
    explanation = engine(build).explain(event("/last"))
    assert clause(explanation, "after").because == "not tried: a final clause before it fired"


def test_its_json_form_is_json(build: Build) -> None:
    """The JSON form of an explanation holds the record of the decision."""
    explanation = engine(build).explain(event("/login", fields={"n": "x"}))
    document: dict[str, Any] = orjson.loads(orjson.dumps(explanation.to_dict()))
    assert document["decision"] == explanation.decision.to_record()
    assert document["policies"][0]["clauses"][0]["window"]["value"] == 1


def test_its_text_tells_it_all(build: Build) -> None:
    """Decision, actions, entities, policies, with carets."""
    made = engine(build)
    for _ in range(2):
        made.decide(event("/login"))
    text = str(made.explain(event("/login")))
    assert text.startswith("allow (no-match) at 2026-03-02T00:00:00.000Z\n")
    assert "  login: matched\n" in text
    assert '  address: "192.0.2.1" (2 events before)' in text
    assert "    window: fired, Monitor\n      everything it asks for holds" in text
    assert "3 of 3 events in 60 s" in text
    assert '      source == "edge"\n      ^^^^^^^^^^^^^^^^\n      false\n' in text


def test_a_refused_event_is_not_explained(build: Build) -> None:
    """An event that a decision refuses is refused by an explanation too."""
    with pytest.raises(EventError):
        engine(build).explain(b"[]")


def test_an_explanation_that_disagrees_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the engine decides otherwise, that is said instead of telling a wrong story."""
    made = engine(Build("reference"))
    other = engine(Build("reference"))
    other.decide(event("/block"))
    monkeypatch.setattr(made, "_backend", _Torn(made, other))
    with pytest.raises(TidegateError, match="different decisions"):
        made.explain(event("/"))


class _Torn:
    """A backend that shows the state of one engine and decides like another."""

    def __init__(self, states: Any, decisions: Any) -> None:
        self.entity_states = states._backend.entity_states
        self.peek = decisions._backend.peek


def test_long_explanations_are_cut(build: Build) -> None:
    """A macro over a long list has a step for each element; not all are kept."""
    made = build(
        actions=[{"name": "Long", "expression": "request.path.segments().all(s, s != 'x')"}]
    )
    explanation = made.explain(event("/" + "a/" * 2_000))
    expression = explanation.actions[0].expression
    assert len(expression.steps) == 500
    assert expression.steps_left_out > 1_000
    assert max(map(len, str(explanation).split("\n"))) < 300


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (5, "5"),
        (UInt(5), "5u"),
        (1.5, "1.5"),
        ('a"\n', '"a\\"\\n"'),
        ("x" * 500, '"' + "x" * 120 + '…"'),
        (b"a", "b'a'"),
        (list(range(9)), "[0, 1, 2, 3, 4, 5, … 3 more]"),
        ([[[[1]]]], "[[[[…]]]]"),
        (Map([("a", 1), (2, "b")]), '{"a": 1, 2: "b"}'),
        (Timestamp(START + 5_000_000), "2026-03-02T00:00:00.005Z"),
        (Timestamp(-1), "1969-12-31T23:59:59.999Z"),
        (Duration(1_500_000_000), "1.5s"),
        (OptionalValue(1), "optional.of(1)"),
        (OptionalValue(), "optional.none()"),
    ],
)
def test_values_are_shown_as_an_author_would_write_them(value: object, text: str) -> None:
    """Values are shown as an author would write them, short and on one line."""
    assert show(value) == text


@given(st.text(max_size=300))
def test_shown_texts_stay_on_one_line(text: str) -> None:
    """A shown text stays on one line and sends nothing to a terminal."""
    assert show(text).isprintable()
