"""The state between events, its evictions when memory is full, and its snapshot."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from building import ADDRESS, BLOCK, SECOND, START, TENANT_ID, Build, document, event, policy
from hypothesis import given
from hypothesis import strategies as st

from tidegate.engine import Engine
from tidegate.errors import SnapshotError
from tidegate.policy.definitions.keys import EntityKey
from tidegate.policy.state.state import Change, Mitigate, State

CLAUSE = {
    "name": "c",
    "expression": 'request.path == "/bad"',
    "entity": "address",
    "mitigation": "refuse",
    "window": {"duration_seconds": 60, "threshold": 1},
}
SECTIONS: dict[str, Any] = {
    "entities": [ADDRESS],
    "mitigations": [BLOCK],
    "policies": [policy(CLAUSE)],
}


def small(build: Build, max_keys: int) -> Engine:
    return build(**SECTIONS, settings={"max_keys": max_keys})


def at(engine: Engine, seconds: int, ip: str, path: str = "/") -> None:
    engine.decide(event(path, ip), START + seconds * SECOND)


def keys(engine: Engine) -> list[str]:
    """The last part of each address, in order of touch."""
    document = orjson.loads(engine.snapshot())
    return [key[1][0]["value"].rpartition(".")[2] for key in document["keys"]]


class TestEviction:
    """At most `max_keys` keys; the one whose loss hurts least goes first."""

    def test_the_longest_untouched_key_goes_first(self, build: Build) -> None:
        """The least recently updated key is evicted first."""
        engine = small(build, 3)
        for number, last in enumerate("1231"):
            at(engine, number, f"192.0.2.{last}")
        assert keys(engine) == ["2", "3", "1"]
        at(engine, 9, "192.0.2.4")
        assert keys(engine) == ["3", "1", "4"]
        assert engine.stats()["evictions_total"] == 1

    def test_a_mitigated_key_stays_before_a_plain_one(self, build: Build) -> None:
        """A mitigated key outlives a plain one, even when it was updated earlier."""
        engine = small(build, 2)
        at(engine, 0, "192.0.2.1", "/bad")
        at(engine, 1, "192.0.2.2")
        at(engine, 2, "192.0.2.3")
        assert keys(engine) == ["1", "3"]
        assert engine.stats()["evictions_mitigated"] == 0

    def test_a_key_whose_mitigation_has_ended_goes_first(self, build: Build) -> None:
        """A key whose mitigation has ended is evicted before plain ones."""
        engine = small(build, 2)
        at(engine, 0, "192.0.2.1", "/bad")
        at(engine, 1, "192.0.2.2")
        at(engine, 60, "192.0.2.3")
        assert keys(engine) == ["2", "3"]
        assert engine.stats()["evictions_mitigated"] == 0

    def test_with_mitigated_keys_only_the_oldest_goes_and_is_counted(self, build: Build) -> None:
        """Memory is bounded whatever happens, and the loss is counted."""
        engine = small(build, 2)
        for number in range(3):
            at(engine, number, f"192.0.2.{number}", "/bad")
        assert keys(engine) == ["1", "2"]
        stats = engine.stats()
        assert (stats["keys"], stats["evictions_total"], stats["evictions_mitigated"]) == (2, 1, 1)

    def test_a_touch_after_the_end_makes_a_key_plain(self, build: Build) -> None:
        """Ended mitigations are forgotten at the next event of the actor."""
        engine = small(build, 2)
        at(engine, 0, "192.0.2.1", "/bad")
        at(engine, 61, "192.0.2.1")
        at(engine, 62, "192.0.2.2", "/bad")
        at(engine, 63, "192.0.2.3")
        assert keys(engine) == ["2", "3"]

    def test_one_key_is_enough_for_an_event_with_several(self, build: Build) -> None:
        """The entities of an event are updated in order; each may push out the one before."""
        entities = [ADDRESS, {"name": "Path", "key_fields": ["request.path"]}]
        engine = build(entities=entities, settings={"max_keys": 1})
        for number in range(3):
            engine.decide(event(), START + number)
        (key,) = orjson.loads(engine.snapshot())["keys"]
        assert (key[0], key[2]) == ("path", 1)
        assert engine.stats()["evictions_total"] == 5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30), st.booleans()), max_size=60))
def test_the_state_never_holds_more_than_it_may(touches: list[tuple[int, int, bool]]) -> None:
    """The state never passes its bound, and its queues hold every key exactly once."""
    state = State(4)
    for number, time, mitigates in touches:
        key = EntityKey.of("e", (number,))
        mitigations = (Mitigate(("p", "c"), time + 5),) if mitigates else ()
        state.apply((Change(key, time, mitigations=mitigations),))
        assert len(state) <= 4
        assert list(state.items())[-1][0] == key
    assert len(list(state.items())) == len(state)


class TestSnapshot:
    """The state as JSON, and back."""

    ENTITY = '["address",[{"type":"string","value":"192.0.2.1"}],1,"5","5",[],[]]'

    def engine(self, build: Build) -> Engine:
        engine = build(**SECTIONS)
        at(engine, 0, "192.0.2.1", "/bad")
        at(engine, 5, "192.0.2.2")
        return engine

    def text(self, keys: str = "", **members: Any) -> bytes:
        made = {"version": 1, "tenant": TENANT_ID, "revision": 0}
        made |= {"evictions": {"total": 0, "mitigated": 0}, "keys": "KEYS", **members}
        return orjson.dumps(made).replace(b'"KEYS"', f"[{keys}]".encode())

    def test_its_form_is_the_documented_one(self, build: Build) -> None:
        """Byte for byte, whichever engine wrote it."""
        time, end = START, START + 60 * SECOND
        first = (
            f'["address",[{{"type":"string","value":"192.0.2.1"}}],1,"{time}","{time}",'
            f'[["p","c","count",["{time}"]]],[["p","c","{end}"]]]'
        )
        later = START + 5 * SECOND
        second = (
            f'["address",[{{"type":"string","value":"192.0.2.2"}}],1,"{later}","{later}",[],[]]'
        )
        assert self.engine(build).snapshot() == self.text(f"{first},{second}")

    @pytest.mark.parametrize("reader", ["reference", "native"])
    def test_an_engine_goes_on_from_a_snapshot(self, build: Build, reader: Any) -> None:
        """The other evaluator's snapshot too: same state, same answers."""
        snapshot = self.engine(build).snapshot()
        restored = Engine.restore(document(**SECTIONS), snapshot, reader)
        assert restored.snapshot() == snapshot
        decision = restored.decide(event(ip="192.0.2.1"), START + 59 * SECOND)
        assert decision.reason == "active-mitigation"

    def test_what_the_definitions_no_longer_have_is_dropped(self, build: Build) -> None:
        """Entities, clauses, measures and mitigations that the definitions lack are dropped."""
        snapshot = self.engine(build).snapshot()

        def left(**sections: Any) -> list[Any]:
            made = document(**{**SECTIONS, **sections})
            return orjson.loads(Engine.restore(made, snapshot, build.evaluator).snapshot())["keys"]

        assert left(entities=[{**ADDRESS, "slug": "ip"}], policies=[]) == []
        two_parts = {**ADDRESS, "key_fields": ["request.client_ip", "request.path"]}
        assert left(entities=[two_parts]) == []
        assert [key[5:] for key in left(policies=[])] == [[[], []], [[], []]]
        assert left(policies=[policy({**CLAUSE, "name": "d"})])[0][5:] == [[], []]
        distinct = {**CLAUSE["window"], "measure": "distinct", "field": "request.path"}
        assert left(policies=[policy({**CLAUSE, "window": distinct})])[0][5] == []
        assert left(policies=[policy({**CLAUSE, "mitigation": None})])[0][6] == []
        assert left(mitigations=[{**BLOCK, "enabled": False}])[0][6] == []
        assert len(left(settings={"max_keys": 1})) == 1

    def test_a_smaller_threshold_keeps_the_newest(self, build: Build) -> None:
        """With a smaller threshold a window keeps its newest times."""
        engine = build(**{**SECTIONS, "policies": [self.wide(threshold=9)]})
        for second in range(5):
            at(engine, second, "192.0.2.1", "/bad")
        made = document(**{**SECTIONS, "policies": [self.wide(threshold=2)]})
        restored = Engine.restore(made, engine.snapshot(), build.evaluator)
        (key,) = orjson.loads(restored.snapshot())["keys"]
        assert key[5] == [
            ["p", "c", "count", [str(START + 3 * SECOND), str(START + 4 * SECOND)]],
        ]

    def wide(self, threshold: int) -> dict[str, Any]:
        window = {"duration_seconds": 60, "threshold": threshold}
        return policy({**CLAUSE, "mitigation": None, "window": window})

    @pytest.mark.parametrize(
        "members",
        [
            {"version": 2},
            {"version": True},
            {"version": "1"},
            {"tenant": "0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2f"},
            {"tenant": "nobody"},
            {"tenant": 5},
            {"evictions": {"total": -1, "mitigated": 0}},
            {"evictions": []},
            {"keys": 5},
            {"keys": [[]]},
        ],
    )
    def test_others_are_refused(self, build: Build, members: dict[str, Any]) -> None:
        """Another version, another tenant, another shape; the state stays as it was."""
        with pytest.raises(SnapshotError):
            Engine.restore(document(**SECTIONS), self.text(**members), build.evaluator)

    @pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
    def test_what_is_no_snapshot_is_refused(self, build: Build, text: bytes) -> None:
        """Any bytes at all give a named error."""
        with pytest.raises(SnapshotError):
            Engine.restore(document(**SECTIONS), text, build.evaluator)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('"5","5"', '"6","5"'),
            ('"5","5"', '"-5","5"'),
            ('"5","5"', '"5","9223372036854775808"'),
            ('"5","5"', '"5",5'),
            ("],1,", "],-1,"),
            ("],1,", '],"1",'),
            ('"string"', '"double"'),
            ("[],[]]", '[["p","c","count",["7","6"]]],[]]'),
            ("[],[]]", '[["p","c","sum",["7"]]],[]]'),
            ("[],[]]", '[["p","c","distinct",[["a","6"],["a","7"]]]],[]]'),
            ("[],[]]", '[],[["p","c",7]]]'),
            (ENTITY, f"{ENTITY},{ENTITY}"),
        ],
    )
    def test_a_broken_key_is_refused(self, build: Build, old: str, new: str) -> None:
        """Numbers out of range, times out of order, things that are there twice."""
        engine = Engine.restore(document(**SECTIONS), self.text(self.ENTITY), build.evaluator)
        assert keys(engine) == ["1"]
        broken = self.ENTITY.replace(old, new)
        assert broken != self.ENTITY
        with pytest.raises(SnapshotError):
            Engine.restore(document(**SECTIONS), self.text(broken), build.evaluator)
