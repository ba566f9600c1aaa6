"""Bans and exemptions change the answer for a time, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from building import ADDRESS, BLOCK, SECOND, START, WATCH, document, event, policy

from tidegate.errors import DefinitionsError
from tidegate.policy.document import read_document

if TYPE_CHECKING:
    from building import Build

    from tidegate_server.engines.serving import TenantEngine

ONE, TWO, THREE = (f"0190f1c4-0000-7000-8000-00000000000{number}" for number in (1, 2, 3))
LATER = "2026-03-02T02:00:00Z"


def override(kind: str = "ban", override_id: str = ONE, **members: Any) -> dict[str, Any]:
    """An override for an address until two hours after the start."""
    target = {} if "entity_id" in members else {"network": "192.0.2.1"}
    about = {"override_id": override_id, "name": override_id, "reason": "scraping"}
    return {**about, "kind": kind, "ends_at": LATER, **target, **members}


def answer(engine: TenantEngine, ip: str = "192.0.2.1", at: int = 0) -> tuple[str, str, str | None]:
    """Action, reason and override of the decision on an event, some seconds after the start."""
    made = engine.decide(event(ip=ip), START + at * SECOND)
    return made.action.type, made.reason, made.override


def test_a_ban_blocks_its_network_until_its_end(build: Build) -> None:
    """A ban answers with the seconds that are left, and only while it is in force."""
    times = {"starts_at": "2026-03-02T00:01:00Z", "ends_at": "2026-03-02T00:02:00.5Z"}
    engine = build(overrides=[override(network="192.0.2.0/24", **times)])
    assert [answer(engine, at=at) for at in (59, 60, 120, 121)] == [
        ("allow", "no-match", None),
        ("block", "banned", ONE),
        ("block", "banned", ONE),
        ("allow", "no-match", None),
    ]
    assert answer(engine, "192.0.3.1", 60)[1] == "no-match"
    assert answer(engine, "::ffff:192.0.2.9", 60)[1] == "banned"
    made = engine.decide(event(), START + 60 * SECOND)
    assert made.to_record()["action"]["block"] == {
        "status_code": 403,
        "body": "",
        "headers": {"retry-after": "61"},
    }


def test_an_event_without_an_address_is_not_banned(build: Build) -> None:
    """A ban of every network is for no event whose client has no address."""
    engine = build(overrides=[override(network="203.0.113.0/24")])
    assert answer(engine, "no address")[1] == "no-match"


def test_letting_through_wins_over_bans_blocks_and_active_mitigations(build: Build) -> None:
    """While exempt, a request is allowed whatever fires; a ban wins over the policies."""
    blocking = policy({"name": "C", "entity": "address", "mitigation": "refuse"})
    ban = override(override_id=TWO, ends_at="2026-03-03T00:00:00Z")
    allow = override("allow", starts_at="2026-03-02T00:00:10Z", ends_at="2026-03-02T00:00:20Z")
    sections = {"entities": [ADDRESS], "mitigations": [BLOCK], "policies": [blocking]}
    assert [answer(build(**sections, overrides=[allow]), at=at)[1] for at in (0, 10, 20)] == [
        "policy",
        "exempt",
        "policy",
    ]
    engine = build(**sections, overrides=[ban, allow])
    assert [answer(engine, at=at) for at in (9, 10)] == [
        ("block", "banned", TWO),
        ("allow", "exempt", ONE),
    ]


def test_windows_count_and_only_an_exemption_sets_no_mitigation(build: Build) -> None:
    """Banned events count and mitigate as ever; exempt ones count, and no mitigation follows."""
    window = {"duration_seconds": 60, "threshold": 3}
    clause = {"name": "C", "entity": "address", "mitigation": "refuse", "window": window}
    for kind, mitigated in (("ban", 1), ("allow", 0)):
        engine = build(
            entities=[ADDRESS],
            mitigations=[BLOCK],
            policies=[policy(clause)],
            overrides=[override(kind, ends_at="2026-03-02T00:00:03Z")],
        )
        made = [engine.decide(event(), START + at * SECOND) for at in range(3)]
        assert [bool(each.fired) for each in made] == [False, False, True]
        assert [each.policy for each in made] == [None, None, None]
        active = engine.active_mitigations(START + 3 * SECOND, 10, None)
        assert len(active) == mitigated
        assert answer(engine, at=3)[1] == "policy"


def test_an_override_for_an_entity_follows_it_across_addresses(build: Build) -> None:
    """An entity is found by its id, whatever address it comes from."""
    account = {"name": "Account", "key_fields": ["fields.account"]}
    engine = build(entities=[account])
    by_ann = engine.decide(event(fields={"account": "ann"}), START)
    entity_id = by_ann.entities[0].entity_id
    engine = build(entities=[account], overrides=[override(entity_id=entity_id)])
    assert engine.decide(event(fields={"account": "ann"}), START).reason == "banned"
    assert engine.decide(event(ip="198.51.100.7", fields={"account": "ann"}), START).override == ONE
    assert engine.decide(event(fields={"account": "bob"}), START).reason == "no-match"


def test_of_several_overrides_the_one_that_ends_last_answers(build: Build) -> None:
    """The ban that ends last is named; of two that end together, the first of the document."""
    sooner = override(override_id=THREE, network="192.0.2.0/24", ends_at="2026-03-02T01:00:00Z")
    engine = build(overrides=[sooner, override(override_id=TWO), override(override_id=ONE)])
    assert answer(engine)[2] == TWO


def test_an_override_follows_definitions_that_change(build: Build) -> None:
    """An engine with other overrides, and the same policies, decides by them."""
    watching = policy({"name": "C", "mitigation": "watch"})
    sections = {"mitigations": [WATCH], "policies": [watching]}
    engine = build(**sections)
    assert answer(engine)[1] == "no-match"
    engine = engine.with_definitions(document(**sections, overrides=[override()]))
    assert answer(engine)[1] == "banned"
    engine = engine.with_definitions(document(**sections))
    assert answer(engine)[1] == "no-match"


def test_an_explanation_names_author_and_reason(build: Build) -> None:
    """An explanation has the override as it is defined, in data and in words."""
    engine = build(overrides=[override(author="ann@shop.example")])
    explained = engine.explain(event(), START)
    assert explained.decision.reason == "banned"
    assert explained.to_dict()["override"]["author"] == "ann@shop.example"
    assert "bans 192.0.2.1 until 2026-03-02T02:00:00Z by ann@shop.example\n    scraping" in str(
        explained
    )


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"network": "0.0.0.0/7"}, "wide-network"),
        ({"network": "2001::/18"}, "wide-network"),
        ({"network": "127.9.0.0/16"}, "protected-network"),
        ({"network": "::/0", "wide": True}, "protected-network"),
        ({"network": "10.1.2.0/24"}, "protected-network"),
        ({"network": None}, "missing-member"),
        ({"entity_id": ONE, "network": "192.0.2.1"}, "misplaced-member"),
        ({"starts_at": LATER}, "never-applies"),
        ({"ends_at": "tomorrow"}, "invalid-time"),
        ({"reason": ""}, "empty-text"),
    ],
)
def test_an_override_that_is_a_mistake_is_refused(members: dict[str, Any], code: str) -> None:
    """A wide, protected or missing target, and an end that isn't after the start, are refused."""
    made = document(settings={"trusted_proxies": ["10.0.0.0/8"]}, overrides=[override(**members)])
    with pytest.raises(DefinitionsError) as refused:
        read_document(made)
    assert [each.code for each in refused.value.diagnostics] == [code]


def test_proxies_may_be_let_through_and_a_wide_ban_said(build: Build) -> None:
    """Protected networks can't be banned, but exempted; `wide` is enough for a wide one."""
    proxies = {"trusted_proxies": ["10.0.0.0/8"]}
    wide = override(network="192.0.0.0/7", wide=True)
    exempt = override("allow", override_id=TWO, network="10.0.0.0/8")
    assert answer(build(settings=proxies, overrides=[wide, exempt]))[1] == "banned"
