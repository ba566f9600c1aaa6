"""Proofs of challenges in decisions: what they answer, to whom they are bound, how passes end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson
import pytest
from building import ADDRESS, BLOCK, ONCE, PUZZLE, SECOND, START, TENANT_ID, document, event, policy

from tidegate.errors import EffectsError, SnapshotError
from tidegate.policy.proofs import ProofKeys
from tidegate.policy.shown_proof import ShownProof
from tidegate_server.engines.serving import TenantEngine

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator
    from tidegate.policy.decision import EngineDecision

KEYS = ProofKeys(UUID(TENANT_ID), b"p" * 32, b"s" * 32)
PASS, OTHER_PASS = UUID(int=7), UUID(int=6)
ENDS = START + 1_800 * SECOND
HOME, AWAY, FURTHER = "192.0.2.1", "198.51.100.9", "203.0.113.5"
AGENT = "Mozilla/5.0"
EVERYBODY = {"name": "puzzle", "mitigation": "puzzle"}
ADMIN = {
    "name": "admin", "expression": 'request.path == "/admin"', "mitigation": "refuse",
    "entity": "address",
}  # fmt: skip
SECTIONS: dict[str, Any] = {
    "entities": [ADDRESS],
    "mitigations": [PUZZLE, BLOCK, ONCE],
    "policies": [policy(ADMIN, EVERYBODY)],
}


def token(pass_id: UUID = PASS, ip: str | None = HOME, agent: str = AGENT, ends: int = ENDS) -> str:
    return KEYS.mint(pass_id, UUID(int=8), START, ends, KEYS.client(ip, agent))


def shown(
    query: str | None = None,
    cookie: str | None = None,
    *,
    path: str = "/",
    ip: str = HOME,
    agent: str = AGENT,
) -> dict[str, Any]:
    """An event that shows proofs."""
    made: dict[str, Any] = event(path, ip)
    made["request"]["user_agent"] = agent
    if query is not None:
        made["request"]["query_params"] = {"service_challenge_proof": query}
    if cookie is not None:
        made["request"]["cookies"] = {"service_challenge": cookie}
    return made


def with_cookies(values: list[str]) -> dict[str, Any]:
    """An event with several cookies of the name."""
    made = shown()
    made["request"]["cookies"] = {"service_challenge": values}
    return made


def of(decision: EngineDecision) -> tuple[str, str, str | None]:
    """The answer, the reason, and what was found of the proof."""
    status = decision.proof.status if decision.proof else None
    return decision.action.type, decision.reason, status


@pytest.fixture
def engine(evaluator: Evaluator) -> TenantEngine:
    return TenantEngine(document(**SECTIONS), evaluator, clock=lambda: START, proof_keys=KEYS)


PROVEN = ("allow", "challenge-proof", "valid")


def test_a_valid_proof_is_the_answer_wherever_it_stands(engine: TenantEngine) -> None:
    """The policies are walked all the same, and nobody of them answers."""
    assert of(engine.decide(shown())) == ("challenge", "policy", None)
    for proofs in ({"query": token()}, {"cookie": token()}, {"query": "", "cookie": token()}):
        decision = engine.decide(shown(**proofs))
        assert of(decision) == PROVEN
        assert (decision.policy, decision.clause, decision.mitigation) == (None, None, None)
        assert [each.clause for each in decision.fired] == ["puzzle"]
    assert b'"passes"' not in engine.snapshot()
    counts = engine.entity_state("address", [HOME], START)
    assert counts is not None
    assert counts.event_count == 4


def test_of_two_proofs_the_first_that_is_valid_counts(engine: TenantEngine) -> None:
    """Without a valid one, the first is what was found."""
    expired = token(ends=START)
    assert of(engine.decide(shown("nothing", token()))) == PROVEN
    assert of(engine.decide(shown(token(), "nothing"))) == PROVEN
    assert of(engine.decide(shown(expired, "nothing")))[2] == "expired"
    assert of(engine.decide(shown("nothing", expired)))[2] == "invalid"
    engine.revoke_pass(PASS, ENDS, START)
    assert of(engine.decide(shown(token(), token(OTHER_PASS)))) == PROVEN
    assert of(engine.decide(shown(token(), "nothing")))[2] == "revoked"


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (token(ends=START), "expired"),
        (token()[:-1], "invalid"),
        (ProofKeys(UUID(int=1), b"p" * 32, b"s" * 32).mint(
            PASS, UUID(int=8), START, ENDS, KEYS.client(HOME, AGENT)), "foreign"),
        (ProofKeys(KEYS.tenant, b"q" * 32, b"s" * 32).mint(
            PASS, UUID(int=8), START, ENDS, KEYS.client(HOME, AGENT)), "invalid"),
        (token(agent="curl"), "other-client"),
    ],
)  # fmt: skip
def test_a_bad_proof_changes_nothing_but_the_record(
    engine: TenantEngine, made: str, status: str
) -> None:
    """The request is decided as without one, and the record says what was found."""
    assert of(engine.decide(shown(made))) == ("challenge", "policy", status)
    assert b'"passes"' not in engine.snapshot()


def test_one_change_of_the_network_is_tolerated(engine: TenantEngine) -> None:
    """From home and one other network the proof is good; from a third it is another client's."""
    assert of(engine.decide(shown(token(), ip="192.0.2.200"))) == PROVEN
    moved = engine.decide(shown(token(), ip=AWAY))
    assert of(moved) == PROVEN
    assert moved.proof is not None
    assert moved.proof.claim is not None
    assert moved.proof.claim.differs == ("network",)
    assert of(engine.decide(shown(token(), ip=FURTHER))) == ("challenge", "policy", "other-client")
    assert of(engine.decide(shown(token(), ip=AWAY))) == PROVEN
    assert of(engine.decide(shown(token(), ip=HOME))) == PROVEN
    assert of(engine.decide(shown(token(OTHER_PASS), ip=FURTHER))) == PROVEN


def test_an_address_that_is_absent_is_a_network_of_its_own(engine: TenantEngine) -> None:
    """A proof that was made without an address may be shown from one network."""
    made = token(ip=None)
    without = shown(made)
    del without["request"]["client_ip"]
    assert of(engine.decide(without)) == PROVEN
    assert of(engine.decide(shown(made, ip=AWAY))) == PROVEN
    assert of(engine.decide(shown(made, ip=FURTHER)))[2] == "other-client"


def test_a_block_that_fires_revokes_the_pass(engine: TenantEngine) -> None:
    """The request that fires it is still allowed; the next one meets the Block."""
    assert of(engine.decide(shown(token(), path="/admin"))) == PROVEN
    assert of(engine.decide(shown(token()))) == ("block", "active-mitigation", "revoked")
    assert of(engine.decide(shown(token(), ip=AWAY))) == ("challenge", "policy", "revoked")
    assert of(engine.decide(shown(token(OTHER_PASS), ip=AWAY))) == PROVEN


def test_after_a_revoked_pass_a_block_comes_before_a_challenge(evaluator: Evaluator) -> None:
    """A visitor who solved a challenge sees the Block behind it, and not one more challenge."""
    refused = {**ADMIN, "mitigation": "once"}
    sections = {**SECTIONS, "policies": [policy(EVERYBODY), policy(refused, name="second")]}
    engine = TenantEngine(document(**sections), evaluator, clock=lambda: START, proof_keys=KEYS)
    assert of(engine.decide(shown(path="/admin"))) == ("challenge", "policy", None)
    assert of(engine.decide(shown(token(), path="/admin"))) == PROVEN
    refusal = engine.decide(shown(token(), path="/admin"))
    assert of(refusal) == ("block", "policy", "revoked")
    assert (refusal.policy, refusal.clause, refusal.mitigation) == ("second", "admin", "once")
    assert of(engine.decide(shown(token()))) == ("challenge", "policy", "revoked")


def test_of_several_cookies_the_first_valid_one_counts(engine: TenantEngine) -> None:
    """A planted cookie hides no good one, and only two of a text are looked at."""
    planted, good = "planted", token()
    for several in ([planted, good], [good, planted], [good, planted, planted]):
        assert of(engine.decide(with_cookies(several))) == PROVEN
    assert of(engine.decide(with_cookies([planted, planted, good])))[2] == "invalid"
    assert of(engine.decide(with_cookies(["", good]))) == PROVEN
    assert of(engine.decide(with_cookies(["", ""])))[2] is None
    assert of(engine.decide(shown(query=planted, cookie=f"{planted}, {good}"))) == PROVEN


def test_an_active_block_revokes_the_pass_too(engine: TenantEngine) -> None:
    """A mitigation that was set before the challenge was solved ends the pass at its first use."""
    assert engine.decide(shown(path="/admin")).action.type == "block"
    assert of(engine.decide(shown(token()))) == PROVEN
    assert of(engine.decide(shown(token()))) == ("block", "active-mitigation", "revoked")


def test_past_the_budget_a_block_revokes_the_pass(evaluator: Evaluator) -> None:
    """A heavy event with a proof isn't a way around policies that were not asked."""
    for setting, then in (("block", "revoked"), ("challenge", "valid")):
        made = document(**{**SECTIONS, "policies": [policy(ADMIN)]})
        made["settings"] = {"on_budget_exceeded": setting}
        engine = TenantEngine(made, evaluator, clock=lambda: START, proof_keys=KEYS)
        ended = ["policies.p.clauses[0].expression"]
        assert of(engine.decide(shown(token()), ended_at=ended)) == PROVEN
        assert of(engine.decide(shown(token())))[2] == then


def test_a_revoked_pass_is_good_no_more_until_it_is_forgotten(engine: TenantEngine) -> None:
    """Once is enough; an expired pass is not remembered."""
    effects = engine.revoke_pass(PASS, ENDS, START + SECOND)
    assert effects == orjson.dumps([["revoke", str(PASS), str(START + SECOND), str(ENDS)]])
    assert engine.revoke_pass(PASS, ENDS, START + 2 * SECOND) is None
    assert engine.revoke_pass(OTHER_PASS, ENDS, ENDS) is None
    assert engine.is_revoked(PASS)
    assert not engine.is_revoked(OTHER_PASS)
    assert of(engine.decide(shown(token())))[2] == "revoked"
    engine.revoke_pass(OTHER_PASS, ENDS + SECOND, ENDS)
    passes = orjson.loads(engine.snapshot())["passes"]
    assert passes == [[str(OTHER_PASS), str(ENDS + SECOND), True, []]]


def test_the_oldest_pass_that_is_not_revoked_makes_room(evaluator: Evaluator) -> None:
    """As many passes are remembered as keys; those that are not revoked go first, by their end."""
    made = document(**SECTIONS, settings={"max_keys": 2})
    engine = TenantEngine(made, evaluator, clock=lambda: START, proof_keys=KEYS)
    first, second, third, fourth = (UUID(int=number) for number in range(1, 5))
    engine.decide(shown(token(first, ends=ENDS + SECOND), ip=AWAY))
    engine.revoke_pass(second, ENDS, START)
    engine.decide(shown(token(third), ip=AWAY))
    kept = [each[0] for each in orjson.loads(engine.snapshot())["passes"]]
    assert kept == [str(third), str(second)]
    engine.revoke_pass(third, ENDS, START)
    engine.revoke_pass(fourth, ENDS, START)
    kept = [each[0] for each in orjson.loads(engine.snapshot())["passes"]]
    assert kept == [str(third), str(fourth)]


def test_effects_and_snapshots_carry_passes(engine: TenantEngine) -> None:
    """An engine that repeats the effects, or starts from the snapshot, knows the same passes."""
    effects = [
        engine.serve(orjson.dumps(each), START, str(UUID(int=1))).effects
        for each in (shown(token(), ip=AWAY), shown(token(OTHER_PASS), path="/admin"))
    ]
    assert orjson.loads(effects[0])[-1] == [
        "move", str(PASS), str(START), str(ENDS), "198.51.100.0/24"
    ]  # fmt: skip
    assert orjson.loads(effects[1])[-1] == ["revoke", str(OTHER_PASS), str(START), str(ENDS)]
    again = TenantEngine(document(**SECTIONS), engine.evaluator, proof_keys=KEYS)
    again.apply_effects(effects)
    assert again.snapshot() == engine.snapshot()
    restored = TenantEngine.restore(
        document(**SECTIONS), engine.snapshot(), engine.evaluator, proof_keys=KEYS
    )
    assert restored.snapshot() == engine.snapshot()
    assert restored.is_revoked(OTHER_PASS)
    assert restored.freeze().snapshot() == engine.snapshot()


def test_changed_definitions_take_passes_over(engine: TenantEngine) -> None:
    """Earlier passes, passes revoked meanwhile, and those of an unrelated engine are taken over."""
    engine.revoke_pass(PASS, ENDS, START)
    changed = {**SECTIONS, "policies": [policy(EVERYBODY, name="Q")], "entities": []}
    successor = engine.with_definitions(document(**changed))
    engine.revoke_pass(OTHER_PASS, ENDS, START)
    assert successor.is_revoked(PASS)
    assert successor.is_revoked(OTHER_PASS)
    assert of(successor.decide(shown(token()))) == ("challenge", "policy", "revoked")


def test_a_decision_is_repeated_by_its_proof(engine: TenantEngine) -> None:
    """The recorded finding, without token, keys and state, makes the same record."""
    engine.revoke_pass(OTHER_PASS, ENDS, START)
    events = [
        shown(token()), shown(token(), ip=AWAY), shown(token(), ip=FURTHER), shown("nothing"),
        shown(token(OTHER_PASS)), shown(token(agent="curl")), shown(token(ends=START)), shown(),
    ]  # fmt: skip
    for each in events:
        decision = engine.decide(each)
        each["request"].pop("query_params", None)
        again = TenantEngine(document(**SECTIONS), engine.evaluator, clock=lambda: START)
        repeated = again.explain(each, proofs=decision.proofs)
        assert repeated.decision == decision
        assert again.decide(each, proofs=decision.proofs) == decision
        record = orjson.dumps(decision.to_record())
        assert type(decision).from_record(record) == decision


def test_another_state_has_the_last_word_on_a_proof_as_read(engine: TenantEngine) -> None:
    """A proof as read has the status of its token, without the verdict of a state."""
    engine.revoke_pass(PASS, ENDS, START)
    revoked = engine.decide(shown(token())).proof
    other = engine.decide(shown(token(agent="curl"))).proof
    assert revoked is not None
    assert other is not None
    assert revoked.as_read().status == "valid"
    assert other.as_read() == other
    assert ShownProof("expired").as_read() == ShownProof("expired")
    fresh = TenantEngine(document(**SECTIONS), engine.evaluator, clock=lambda: START)
    assert of(fresh.decide(shown(), proofs=[revoked.as_read()])) == PROVEN


def test_an_explanation_says_what_was_found(engine: TenantEngine) -> None:
    """An explanation shows what was found, for a live event too, by the present state; nothing is
    remembered."""
    engine.revoke_pass(PASS, ENDS, START)
    explanation = engine.explain(shown(token()))
    assert of(explanation.decision) == ("challenge", "policy", "revoked")
    assert f"a proof of a challenge of pass {PASS}: revoked" in str(explanation)
    assert of(engine.explain(shown(token(OTHER_PASS), ip=AWAY)).decision) == PROVEN
    assert of(engine.explain(shown(token(OTHER_PASS), ip=FURTHER)).decision) == PROVEN
    states = orjson.loads(engine.state_of(orjson.dumps(shown(token()))))
    assert [each[0] for each in states["passes"]] == [str(PASS)]


def test_an_engine_without_keys_reads_no_proof(evaluator: Evaluator) -> None:
    """An engine without keys decides as if an event had no proof."""
    engine = TenantEngine(document(**SECTIONS), evaluator, clock=lambda: START)
    assert of(engine.decide(shown(token(), token()))) == ("challenge", "policy", None)


@pytest.mark.parametrize(
    "spoilt",
    [
        [["revoke", str(PASS), "1"]], [["revoke", str(PASS), "1", "2", None]],
        [["revoke", str(PASS), 1, "2"]], [["revoke", "x", "1", "2"]],
        [["revoke", str(PASS).upper() + "A", "1", "2"]], [["revoke", str(PASS), "-1", "2"]],
        [["move", str(PASS), "1", "2"]], [["move", str(PASS), "1", "2", ""]],
        [["move", str(PASS), "1", "2", "192.0.2.1/24"]], [["move", str(PASS), "1", "2", 7]],
        [["move", str(PASS), "1", "2", "192.0.2.0/25"]], [["resurrect", str(PASS), "1", "2"]],
    ],
)  # fmt: skip
def test_malformed_effects_on_passes_are_refused(engine: TenantEngine, spoilt: Any) -> None:
    """Nothing of them is applied."""
    good = ["revoke", str(OTHER_PASS), str(START), str(ENDS)]
    with pytest.raises(EffectsError):
        engine.apply_effects([orjson.dumps([good, *spoilt])])
    assert not engine.is_revoked(OTHER_PASS)


@pytest.mark.parametrize(
    "spoilt",
    [
        [[str(PASS), "1", True]], [[str(PASS), "1", 1, []]], [[str(PASS), 1, True, []]],
        [[str(PASS), "1", True, ["192.0.2.0/24", None]]], [[str(PASS), "1", True, ["x"]]],
        [["x", "1", True, []]], [[str(PASS), "1", True, []]] * 2, {}, None,
    ],
)  # fmt: skip
def test_malformed_passes_of_a_snapshot_are_refused(engine: TenantEngine, spoilt: Any) -> None:
    """The state stays as it was."""
    engine.revoke_pass(OTHER_PASS, ENDS, START)
    snapshot = orjson.loads(engine.snapshot()) | {"passes": spoilt}
    with pytest.raises(SnapshotError):
        engine.load_state(orjson.dumps(snapshot))
    assert engine.is_revoked(OTHER_PASS)


def test_a_record_without_a_proof_has_no_member_of_it(engine: TenantEngine) -> None:
    """Records of events that show none are what they were."""
    record = engine.decide(shown()).to_record()
    assert "proof" not in record
    assert (
        attrs.evolve(engine.decide(shown(token())), proof=None).to_record().keys() == record.keys()
    )
