"""The decision, rule by rule of docs/decision.md, on both engines."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID, uuid5

import pytest
from building import (
    ADDRESS,
    BLOCK,
    ONCE,
    PUZZLE,
    SECOND,
    START,
    TENANT_ID,
    WATCH,
    Build,
    document,
    event,
    policy,
)

from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate.policy.decision import EngineDecision
from tidegate.values import Timestamp

LOGIN = {"name": "Login", "expression": 'request.path == "/login"'}
BROKEN = {"name": "Broken", "expression": 'int(fields["n"]) > 0'}


def fired(decision: EngineDecision) -> list[str]:
    """Names of the clauses that fired; those that did as active in brackets."""
    return [f"({each.clause})" if each.active else each.clause for each in decision.fired]


def at(engine: Engine, seconds: float, **members: Any) -> EngineDecision:
    """Decide on an event that happened and arrived a number of seconds after the start."""
    return engine.decide(event(**members), START + round(seconds * SECOND))


class TestTime:
    """Rule: observed_at, but at most five minutes after received_at."""

    def seen_at(self, build: Build, observed: str | None, received: int) -> str:
        engine = build(entities=[ADDRESS])
        made = event()
        if observed is not None:
            made["observed_at"] = observed
        engine.decide(made, received)
        return str(engine.explain(event(), received).entities[0].last_seen_at)

    def test_an_event_counts_at_its_own_time(self, build: Build) -> None:
        """An event counts at its own time, however late it arrives."""
        seen = self.seen_at(build, "2020-01-01T00:00:00.25Z", START)
        assert seen == "2020-01-01T00:00:00.250Z"

    def test_an_event_without_a_time_counts_when_it_arrived(self, build: Build) -> None:
        """An event without a time counts at the time it was received."""
        assert self.seen_at(build, None, START) == "2026-03-02T00:00:00.000Z"

    def test_an_event_of_the_future_counts_five_minutes_ahead_at_most(self, build: Build) -> None:
        """An event of the future counts at most five minutes ahead."""
        assert self.seen_at(build, "2026-03-02T00:04:59Z", START) == "2026-03-02T00:04:59.000Z"
        assert self.seen_at(build, "2027-01-01T00:00:00Z", START) == "2026-03-02T00:05:00.000Z"

    def test_times_before_1970_count_as_1970(self, build: Build) -> None:
        """Times are kept between 0 and the end of 64 bits."""
        assert self.seen_at(build, "0001-01-01T00:00:00Z", START) == "1970-01-01T00:00:00.000Z"

    def test_the_clock_of_the_engine_is_read_when_no_time_is_given(self, build: Build) -> None:
        """The engine reads its clock only when no time is given."""
        engine = build(entities=[ADDRESS])
        engine.decide(event())
        assert f'"{START}"' in engine.snapshot().decode()


class TestActions:
    """Rule 1: actions classify, and are fields of everything after them."""

    def test_matched_actions_are_named(self, build: Build) -> None:
        """A decision names the matched actions in order, by slug."""
        other = {"name": "Get", "expression": 'request.method == "GET"'}
        engine = build(actions=[LOGIN, other])
        assert engine.decide(event("/login")).matched_actions == ("login", "get")
        assert engine.decide(event("/")).matched_actions == ("get",)

    def test_an_error_counts_as_false_and_is_recorded(self, build: Build) -> None:
        """An action that is an error has not matched."""
        engine = build(
            actions=[BROKEN],
            mitigations=[ONCE],
            policies=[policy({"expression": "!actions.broken", "mitigation": "once"})],
        )
        decision = engine.decide(event())
        assert decision.matched_actions == ()
        assert decision.errors == {"actions.broken.expression": "invalid_argument"}
        assert decision.action.type == "block"

    def test_actions_are_fields_of_entities_scopes_and_conditions(self, build: Build) -> None:
        """Everything after the actions can read them."""
        engine = build(
            actions=[LOGIN],
            entities=[{**ADDRESS, "match_expression": "actions.login"}],
            mitigations=[ONCE],
            policies=[
                policy(
                    {"expression": "actions.login", "entity": "address", "mitigation": "once"},
                    expression="actions.login",
                )
            ],
        )
        assert engine.decide(event("/login")).action.type == "block"
        assert engine.decide(event("/other")).action.type == "allow"


class TestEntities:
    """Rule 2: who the event belongs to."""

    def test_entities_come_by_priority_then_order(self, build: Build) -> None:
        """Entities come by priority, then in document order; the first is the primary one."""
        entities = [
            {"name": name, "priority": priority, "key_fields": ["request.method"]}
            for name, priority in (("c", 5), ("b", 7), ("a", 5), ("d", -1))
        ]
        decision = build(entities=entities).decide(event())
        assert [each.definition for each in decision.entities] == ["d", "c", "a", "b"]

    def test_the_id_is_a_hash_of_tenant_definition_and_key(self, build: Build) -> None:
        """The same definitions give the same id everywhere."""
        definition_id = "0190f1c4-5b7e-7c3a-9d2e-000000000001"
        entity = {
            "entity_definition_id": definition_id,
            "name": "All",
            "key_fields": [
                "request.path", "size(request.path)", "uint(size(request.path))",
                'request.method == "GET"', "ip(request.client_ip)",
                "ip(request.client_ip).masked(24, 48)",
            ],
        }  # fmt: skip
        decision = build(entities=[entity]).decide(event('/\u00e9\u2028"\\\n\x01', ip="192.0.2.7"))
        (found,) = decision.entities
        key = '["/\u00e9\u2028\\"\\\\\\n\\u0001",7,7,true,"192.0.2.7","192.0.2.0/24"]'
        assert found.entity_id == str(uuid5(UUID(TENANT_ID), f"{definition_id}\n{key}"))
        assert found.key == ('/\u00e9\u2028"\\\n\x01', 7, 7, True, "192.0.2.7", "192.0.2.0/24")

    @pytest.mark.parametrize("field", ['fields["user"]', "string(request.body.user)"])
    def test_a_missing_part_skips_the_definition(self, build: Build, field: str) -> None:
        """A definition with an empty or absent part does not apply, and no error is recorded."""
        entity = {"name": "User", "key_fields": [field]}
        decision = build(entities=[entity]).decide(event(fields={"body": {"other": 1}}))
        assert (decision.entities, decision.errors) == ((), {})
        assert build(entities=[entity]).decide(event()).entities == ()

    @pytest.mark.parametrize("field", ['fields["user"]', "string(request.body.user)"])
    def test_a_missing_part_can_count_as_blank(self, build: Build, field: str) -> None:
        """With `blank` a missing key part is the empty text."""
        entity = {"name": "User", "key_fields": [field], "on_missing_key": "blank"}
        (found,) = build(entities=[entity]).decide(event()).entities
        assert found.key == ("",)

    @pytest.mark.parametrize("missing", ["skip", "blank"])
    def test_another_error_in_a_key_is_recorded(self, build: Build, missing: str) -> None:
        """The definition does not apply, whatever it does with missing parts."""
        fields = ["request.client_ip", 'int(fields["n"])']
        entity = {"name": "N", "key_fields": fields, "on_missing_key": missing}
        decision = build(entities=[entity]).decide(event())
        assert decision.entities == ()
        assert decision.errors == {"entities.n.key_fields[1]": "invalid_argument"}

    def test_a_match_expression_limits_a_definition(self, build: Build) -> None:
        """False: not here. An error: not here, and recorded."""
        entity = {**ADDRESS, "match_expression": 'int(fields["n"]) > 0'}
        engine = build(entities=[entity])
        assert len(engine.decide(event(fields={"n": "1"})).entities) == 1
        assert engine.decide(event(fields={"n": "0"})).entities == ()
        assert engine.decide(event()).errors == {
            "entities.address.match_expression": "invalid_argument"
        }


class TestClauses:
    """Rule 3: what makes a clause fire."""

    def test_policies_are_tried_by_priority_then_order(self, build: Build) -> None:
        """Policies are tried by priority, lower first, then in document order."""
        engine = build(
            policies=[
                policy({"name": name}, name=name, priority=priority)
                for name, priority in (("a", 9), ("b", 1), ("c", 9), ("d", -3))
            ]
        )
        assert fired(engine.decide(event())) == ["d", "b", "a", "c"]

    def test_nothing_fires_outside_the_scope(self, build: Build) -> None:
        """The scope is asked once; an error in it is recorded and counts as outside."""
        engine = build(
            policies=[policy({"name": "x"}, {"name": "y"}, expression='int(fields["n"]) > 0')]
        )
        assert fired(engine.decide(event(fields={"n": "1"}))) == ["x", "y"]
        assert fired(engine.decide(event(fields={"n": "0"}))) == []
        decision = engine.decide(event())
        assert (fired(decision), decision.errors) == (
            [],
            {"policies.p.expression": "invalid_argument"},
        )

    def test_all_actions_must_have_matched(self, build: Build) -> None:
        """A clause fires only when all its actions have matched."""
        other = {"name": "Get", "expression": 'request.method == "GET"'}
        engine = build(
            actions=[LOGIN, other], policies=[policy({"name": "x", "actions": ["login", "get"]})]
        )
        assert fired(engine.decide(event("/login"))) == ["x"]
        assert fired(engine.decide(event("/"))) == []

    def test_the_entity_must_apply(self, build: Build) -> None:
        """A clause about an actor fires only when its entity applies."""
        engine = build(entities=[ADDRESS], policies=[policy({"name": "x", "entity": "address"})])
        assert fired(engine.decide(event(ip="192.0.2.1"))) == ["x"]
        assert fired(engine.decide(event(ip="nonsense"))) == []

    def test_the_condition_is_evaluated_only_when_all_else_holds(self, build: Build) -> None:
        """A condition is evaluated only when everything else holds."""
        engine = build(
            actions=[LOGIN],
            policies=[policy({"actions": ["login"], "expression": 'int(fields["n"]) > 0'})],
        )
        assert engine.decide(event("/")).errors == {}
        assert engine.decide(event("/login")).errors == {
            "policies.p.clauses[0].expression": "invalid_argument"
        }

    def test_a_condition_sees_its_entity_before_the_event(self, build: Build) -> None:
        """A condition sees the count and times of its entity before the event."""
        clauses = [
            {"name": "new", "expression": "entity.event_count == 0", "entity": "address"},
            {"name": "third", "expression": "entity.event_count == 2", "entity": "address"},
            {
                "name": "old",
                "expression": 'entity.last_seen_at - entity.first_seen_at >= duration("5s")',
                "entity": "address",
            },
        ]
        engine = build(entities=[ADDRESS], policies=[policy(*clauses)])
        assert fired(at(engine, 0)) == ["new"]
        assert fired(at(engine, 5)) == []
        assert fired(at(engine, 6)) == ["third", "old"]
        assert fired(at(engine, 6, ip="192.0.2.9")) == ["new"]

    def test_an_actor_never_seen_was_first_seen_now(self, build: Build) -> None:
        """First and last time of a new actor are the time of the event."""
        expression = "entity.first_seen_at == observed_at && entity.last_seen_at == observed_at"
        engine = build(
            entities=[ADDRESS],
            policies=[policy({"name": "x", "entity": "address", "expression": expression})],
        )
        assert fired(engine.decide(event(at=3))) == ["x"]
        assert fired(engine.decide(event(at=4))) == []

    def test_every_clause_is_tried_whatever_fires_first(self, build: Build) -> None:
        """The walk goes on after an answer is found."""
        engine = build(
            mitigations=[ONCE, PUZZLE],
            policies=[
                policy(
                    {"name": "x", "mitigation": "once"},
                    {"name": "y", "mitigation": "puzzle"},
                    {"name": "z"},
                )
            ],
        )
        assert fired(engine.decide(event())) == ["x", "y", "z"]

    def test_a_final_clause_that_fires_ends_the_walk(self, build: Build) -> None:
        """Nothing after it is evaluated or counted."""
        window = {"duration_seconds": 60, "threshold": 2}
        engine = build(
            actions=[LOGIN],
            entities=[ADDRESS],
            policies=[
                policy({"name": "stop", "actions": ["login"], "final": True}, name="first"),
                policy(
                    {"name": "count", "entity": "address", "window": window},
                    {"name": "error", "expression": 'int(fields["n"]) > 0'},
                ),
            ],
        )
        decision = at(engine, 0, path="/login")
        assert (fired(decision), decision.errors) == (["stop"], {})
        assert fired(at(engine, 1)) == []
        assert fired(at(engine, 2)) == ["count"]


class TestAnswer:
    """Rule 4: the first Challenge or Block in order."""

    def test_without_a_policy_everything_is_allowed(self, build: Build) -> None:
        """Without a policy every event is allowed, with the reason no-match."""
        decision = build().decide(event())
        assert (decision.action.type, decision.reason, decision.policy) == (
            "allow",
            "no-match",
            None,
        )

    def test_the_first_answering_clause_decides(self, build: Build) -> None:
        """A Monitor clause before it does not."""
        engine = build(
            mitigations=[WATCH, PUZZLE, ONCE],
            policies=[
                policy(
                    {"name": "nothing"},
                    {"name": "watch", "mitigation": "watch"},
                    {"name": "puzzle", "mitigation": "puzzle"},
                    {"name": "block", "mitigation": "once"},
                )
            ],
        )
        decision = engine.decide(event())
        assert decision.action.type == "challenge"
        assert (decision.policy, decision.clause, decision.mitigation, decision.reason) == (
            "p",
            "puzzle",
            "puzzle",
            "policy",
        )
        assert [each.mode for each in decision.fired] == [
            "Monitor",
            "Monitor",
            "Challenge",
            "Block",
        ]

    def test_monitor_clauses_alone_answer_nothing(self, build: Build) -> None:
        """Monitor clauses are listed, and the reason stays no-match."""
        engine = build(mitigations=[WATCH], policies=[policy({"name": "x", "mitigation": "watch"})])
        decision = engine.decide(event())
        assert (decision.action.type, decision.reason, fired(decision)) == (
            "allow",
            "no-match",
            ["x"],
        )

    def test_a_block_says_what_to_send(self, build: Build) -> None:
        """Status, body and headers are those of the mitigation, or the defaults."""
        block = {"status_code": 429, "body": 'a"\n\u00e9', "headers": {"Retry-After": "60"}}
        policies = [policy({"mitigation": "once"})]
        decision = build(mitigations=[{**ONCE, "block": block}], policies=policies).decide(event())
        assert decision.to_record()["action"] == {"type": "block", "block": block}
        plain = build(mitigations=[ONCE], policies=policies).decide(event())
        assert plain.to_wire() == {
            "action": {"type": "block", "block": {"status_code": 403, "body": "", "headers": {}}},
            "reason": "policy",
        }

    @pytest.mark.parametrize(
        ("given", "template", "expected"),
        [
            ("https://a.example/x", "https://t.example/", "https://a.example/x"),
            ("", "https://t.example/", "https://t.example/"),
            (None, "https://t.example/", "https://t.example/"),
            (None, None, None),
        ],
    )
    def test_a_challenge_says_where_to_return(
        self, build: Build, given: str | None, template: str | None, expected: str | None
    ) -> None:
        """The event's return URL, else the mitigation's template, else nowhere."""
        challenge = {"difficulty": 2, "default_return_url_template": template}
        engine = build(
            mitigations=[{**PUZZLE, "challenge": challenge}],
            policies=[policy({"mitigation": "puzzle"})],
        )
        assert engine.decide(event(return_url=given)).to_record()["action"] == {
            "type": "challenge",
            "challenge": {"provider": "pow", "difficulty": 2, "return_url": expected},
        }

    def test_the_wire_form_is_the_action_and_the_reason(self, build: Build) -> None:
        """`decide_json` gives the action and reason of the record."""
        engine = build(mitigations=[ONCE], policies=[policy({"mitigation": "once"})])
        body = b'{"request": {"path": "/"}}'
        expected = b'{"action":{"type":"block","block":{"status_code":403,"body":"","headers":{}}},'
        assert engine.decide_json(body) == expected + b'"reason":"policy"}'


class TestMitigations:
    """Rules 3 and 5: an actor stays mitigated."""

    ENGINE: ClassVar[dict[str, Any]] = {
        "actions": [LOGIN],
        "entities": [ADDRESS],
        "mitigations": [BLOCK, ONCE, {**WATCH, "ttl_seconds": 60}],
    }

    def clause(self, **members: Any) -> dict[str, Any]:
        return {"name": "x", "actions": ["login"], "entity": "address", **members}

    def test_an_actor_stays_mitigated_for_the_ttl(self, build: Build) -> None:
        """Later requests of the actor get the answer, whatever they ask for."""
        engine = build(**self.ENGINE, policies=[policy(self.clause(mitigation="refuse"))])
        assert at(engine, 0, path="/login").reason == "policy"
        later = at(engine, 59.999)
        assert (later.action.type, later.reason, fired(later)) == (
            "block",
            "active-mitigation",
            ["(x)"],
        )
        assert at(engine, 59.999, ip="192.0.2.9").action.type == "allow"
        assert at(engine, 60).action.type == "allow"

    def test_it_holds_outside_the_scope_too(self, build: Build) -> None:
        """Scope and condition were asked when it was set."""
        clause = self.clause(mitigation="refuse", expression='request.method == "GET"')
        engine = build(
            **self.ENGINE, policies=[policy(clause, expression='request.path == "/login"')]
        )
        at(engine, 0, path="/login")
        assert at(engine, 1, path="/").reason == "active-mitigation"

    def test_being_active_does_not_extend_it(self, build: Build) -> None:
        """An active mitigation is not extended by answering with it."""
        engine = build(**self.ENGINE, policies=[policy(self.clause(mitigation="refuse"))])
        at(engine, 0, path="/login")
        at(engine, 50)
        assert at(engine, 61).action.type == "allow"

    def test_firing_again_extends_it(self, build: Build) -> None:
        """A clause that fires again by itself extends its mitigation."""
        engine = build(**self.ENGINE, policies=[policy(self.clause(mitigation="refuse"))])
        at(engine, 0, path="/login")
        assert fired(at(engine, 50, path="/login")) == ["x"]
        assert fired(at(engine, 109)) == ["(x)"]
        assert fired(at(engine, 110)) == []

    def test_a_late_event_does_not_shorten_it(self, build: Build) -> None:
        """A late event does not bring the end of a mitigation forward."""
        engine = build(**self.ENGINE, policies=[policy(self.clause(mitigation="refuse"))])
        at(engine, 50, path="/login")
        at(engine, 0, path="/login")
        assert fired(at(engine, 109)) == ["(x)"]

    def test_a_ttl_of_nought_is_this_request_only(self, build: Build) -> None:
        """A mitigation with a time to live of 0 leaves no state."""
        engine = build(**self.ENGINE, policies=[policy(self.clause(mitigation="once"))])
        assert at(engine, 0, path="/login").action.type == "block"
        assert at(engine, 1).action.type == "allow"

    def test_a_clause_without_an_entity_mitigates_nobody(self, build: Build) -> None:
        """A clause without an entity leaves no mitigation."""
        clause = {"actions": ["login"], "mitigation": "refuse"}
        engine = build(**self.ENGINE, policies=[policy(clause)])
        at(engine, 0, path="/login")
        assert at(engine, 1).action.type == "allow"

    def test_it_answers_at_the_place_of_its_clause(self, build: Build) -> None:
        """A clause before it that answers comes first."""
        early = {"name": "early", "expression": 'request.path == "/e"', "mitigation": "once"}
        engine = build(**self.ENGINE, policies=[policy(early, self.clause(mitigation="refuse"))])
        at(engine, 0, path="/login")
        decision = at(engine, 1, path="/e")
        assert (decision.clause, decision.reason, fired(decision)) == (
            "early",
            "policy",
            ["early", "(x)"],
        )

    def test_a_monitor_clause_can_keep_an_actor_let_through(self, build: Build) -> None:
        """A final Monitor clause with a time to live keeps an actor allowed."""
        clause = self.clause(mitigation="watch", final=True)
        engine = build(
            **self.ENGINE, policies=[policy(clause, {"name": "all", "mitigation": "once"})]
        )
        assert fired(at(engine, 0, path="/login")) == ["x"]
        assert fired(at(engine, 1)) == ["(x)"]
        assert fired(at(engine, 61)) == ["all"]

    def test_two_clauses_keep_their_own(self, build: Build) -> None:
        """Each clause keeps its own mitigation."""
        second = {**self.clause(mitigation="refuse"), "name": "y", "actions": []}
        second["expression"] = 'request.path == "/y"'
        engine = build(**self.ENGINE, policies=[policy(self.clause(mitigation="refuse"), second)])
        at(engine, 0, path="/login")
        assert fired(at(engine, 30, path="/y")) == ["(x)", "y"]
        assert fired(at(engine, 70)) == ["(y)"]


class TestDisabled:
    """A disabled object behaves as absent."""

    @pytest.mark.parametrize("members", [{"enabled": False}, {"status": "draft"}])
    def test_policies(self, build: Build, members: dict[str, Any]) -> None:
        """Only enabled and active policies decide."""
        assert build(policies=[policy({}, **members)]).decide(event()).fired == ()

    def test_actions(self, build: Build) -> None:
        """A clause that names one never fires; a condition that reads one is an error."""
        engine = build(
            actions=[{"name": "Any", "expression": "true", "enabled": False}],
            policies=[
                policy(
                    {"name": "x", "actions": ["any"]}, {"name": "y", "expression": "!actions.any"}
                )
            ],
        )
        decision = engine.decide(event())
        assert (decision.matched_actions, decision.fired) == ((), ())
        assert decision.errors == {"policies.p.clauses[1].expression": "no_such_field"}

    def test_entities(self, build: Build) -> None:
        """A clause that names one never fires."""
        engine = build(
            entities=[{**ADDRESS, "enabled": False}],
            policies=[policy({"name": "x", "entity": "address"}, {"name": "y"})],
        )
        decision = engine.decide(event())
        assert (decision.entities, fired(decision)) == ((), ["y"])

    def test_mitigations(self, build: Build) -> None:
        """A clause with a disabled mitigation monitors."""
        engine = build(
            mitigations=[{**BLOCK, "enabled": False}], policies=[policy({"mitigation": "refuse"})]
        )
        (found,) = engine.decide(event()).fired
        assert (found.mitigation, found.mode) == (None, "Monitor")


def test_a_refused_event_changes_nothing(build: Build) -> None:
    """The refusal says where, and the state is as it was."""
    engine = build(entities=[ADDRESS])
    at(engine, 0)
    before = engine.snapshot()
    with pytest.raises(EventError) as caught:
        engine.decide({"request": {"client_ip": 7}})
    assert caught.value.pointer == "/request/client_ip"
    with pytest.raises(EventError):
        engine.decide(b'{"request": ')
    assert engine.snapshot() == before


def test_dict_and_bytes_are_decided_alike(build: Build) -> None:
    """An event may come as Python objects or as JSON."""
    engine = build(entities=[ADDRESS])
    as_dict = engine.decide({**event(), "observed_at": Timestamp(START)})
    assert engine.decide(b'{"request": {"client_ip": "192.0.2.1"}}') == as_dict


def test_a_record_survives_the_way_out_and_in(build: Build) -> None:
    """A decision from its own record is the same decision."""
    engine = build(
        actions=[LOGIN, BROKEN],
        entities=[ADDRESS],
        mitigations=[PUZZLE],
        policies=[
            policy(
                {
                    "entity": "address",
                    "mitigation": "puzzle",
                    "window": {"duration_seconds": 1, "threshold": 1},
                }
            )
        ],
    )
    decision = engine.decide(event("/login"))
    assert EngineDecision.from_record(decision.to_record()) == decision


def test_there_are_two_evaluators() -> None:
    """An engine refuses the name of an unknown evaluator."""
    with pytest.raises(ValueError, match="there is no evaluator `quick`"):
        Engine(document(), "quick")  # type: ignore[arg-type]
