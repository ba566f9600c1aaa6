"""The contract of a store for questions about the past: definition sets, lifts, histories."""

from __future__ import annotations

import orjson
import pytest
from tests.store_contract.examples import (
    OTHER_TENANT,
    SECOND_NS,
    START_NS,
    TENANT,
    StorePlaces,
    decision_id,
    done,
    entity_id,
    entry,
)

from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.decision_log import decisions, lifts, lines, log
from tidegate_server.stores.decision_log.decisions import DecisionQuery
from tidegate_server.stores.decision_log.lifts import Lift
from tidegate_server.stores.index.results import of_policy
from tidegate_server.stores.objects import audit, definition_sets
from tidegate_server.stores.port import Store

ENTRIES = [f"198.51.{number // 256}.{number % 256}" for number in range(20_000)]


def document(revision: int, entries: list[str]) -> bytes:
    """A definitions document with one long list."""
    return orjson.dumps({"revision": revision, "lists": [{"name": "l", "entries": entries}]})


def keep(store: Store, revision: int, content: bytes) -> definition_sets.DefinitionSet | None:
    """Keep a document as a revision of ``TENANT``."""
    with store.read() as connection:
        made = definition_sets.prepare(connection, TENANT, revision, content, START_NS)
    if made is not None:
        kept = made
        done(store.write(lambda connection: definition_sets.add(connection, kept)))
    return made


def lift(number: int) -> Lift:
    """A lift of the first entity; ``number`` is in its id and its time."""
    at_ns = START_NS + number
    return Lift(
        lift_id=decision_id(number, at_ns),
        tenant_id=TENANT,
        entity_id=entity_id(1),
        at_ns=at_ns,
        actor="ann",
        request_id="r-1",
        revision=3,
        mitigations=[{"policy": "p", "clause": "c"}],
        effects=b'[["lift","address",["192.0.2.7"],"1",[["p","c"]]]]',
    )


class HistoryContract(StorePlaces):
    """Questions about the past."""

    def test_every_revision_is_there_as_it_was(self, shop: Store) -> None:
        """A list that gains an entry takes a few bytes more; a set is given back to the byte."""
        first, second = document(1, ENTRIES), document(2, [*ENTRIES, "192.0.2.1"])
        third = document(3, ["192.0.2.9"])
        whole, small, other = (
            keep(shop, number, each) for number, each in enumerate((first, second, third), 1)
        )
        assert whole is not None
        assert small is not None
        assert (whole.base_revision, small.base_revision) == (None, 1)
        assert other is not None
        assert len(small.body) < 1_000
        assert keep(shop, 1, b"{}") is None
        with shop.read() as connection:
            kept = [definition_sets.load(connection, TENANT, number) for number in (1, 2, 3)]
            assert kept == [first, second, third]
            with pytest.raises(NotFoundError):
                definition_sets.load(connection, OTHER_TENANT, 1)

    def test_old_revisions_go_but_for_those_that_others_need(self, shop: Store) -> None:
        """A whole set stays as long as a difference to it does."""
        for number in (1, 2, 3):
            keep(shop, number, document(number, [*ENTRIES, f"192.0.2.{number}"]))
        done(shop.write(lambda connection: definition_sets.prune(connection, TENANT, 3)))
        with shop.read() as connection:
            assert definition_sets.load(connection, TENANT, 3)
            assert definition_sets.load(connection, TENANT, 1)
            with pytest.raises(NotFoundError):
                definition_sets.load(connection, TENANT, 2)

    def test_a_lift_is_in_the_log_and_in_the_audit_but_no_decision(self, shop: Store) -> None:
        """A lift is repeated from the log and audited; searches, counts and the catalog do not
        see it."""
        done(shop.append([entry(1, entity_ids=(entity_id(1),)), lifts.entry(lift(2))]))
        shop.index_now()
        with shop.read() as connection:
            lines = list(log.scan(connection))
            assert [each.is_decision for each in lines] == [True, False]
            assert lines[1].effects() == lift(2).effects
            found = decisions.search(connection, TENANT, DecisionQuery(entity_id=entity_id(1)), 9)
            assert [each.seq for each in found.decisions] == [1]
            with pytest.raises(NotFoundError):
                decisions.find(connection, TENANT, lift(2).lift_id)
            assert of_policy(connection, TENANT).total == 1
            (audited,) = audit.page(connection, TENANT, 9)
        assert (audited.actor, audited.action, audited.kind) == ("ann", "lift", lifts.AUDIT_KIND)
        assert audited.object_id == str(entity_id(1))
        assert audited.before == [{"policy": "p", "clause": "c"}]
        assert audited.request_id == "r-1"

    def test_the_effects_of_lifts_are_joined(self) -> None:
        """Lifting several clauses gives one text of effects."""
        joined = lines.join_effects([b'[["lift",1]]', b"[]", b'[["lift",2],["lift",3]]'])
        assert joined == b'[["lift",1],["lift",2],["lift",3]]'

    def test_the_history_of_a_decision_is_what_befell_its_entities(self, shop: Store) -> None:
        """Earlier decisions and lifts of any of its entities, the oldest first; nothing later."""
        ones, twos = (entity_id(1),), (entity_id(2),)
        done(
            shop.append(
                [
                    entry(1, entity_ids=ones),
                    entry(2, entity_ids=(entity_id(3),)),
                    entry(3, entity_ids=twos),
                    lifts.entry(lift(4)),
                    entry(5, entity_ids=(*ones, *twos)),
                    entry(6, entity_ids=ones, received_at_ns=START_NS + SECOND_NS),
                ]
            )
        )
        shop.index_now()
        with shop.read() as connection:
            present = decisions.find(connection, TENANT, decision_id(5, START_NS + 5))
            whole = decisions.history(connection, present, limit=10)
            assert whole == decisions.History((1, 3, 4), is_whole=True)
            read = [each.seq for each in log.read_many(connection, whole.seqs, TENANT)]
            assert read == [1, 3, 4]
            since = decisions.history(connection, present, after_seq=1, limit=10)
            assert since == decisions.History((3, 4), is_whole=True)
            newest = decisions.history(connection, present, limit=2)
            assert newest == decisions.History((3, 4), is_whole=False)
            near = decisions.history(connection, present, limit=10, max_examined=1)
            assert near == decisions.History((4,), is_whole=False)

    def test_what_is_read_by_number_is_of_one_tenant(self, shop: Store) -> None:
        """Numbers of another tenant's decisions, and of none, give nothing."""
        done(shop.append([entry(1)]))
        done(shop.append([entry(2, OTHER_TENANT)]))
        done(shop.append([entry(3)]))
        with shop.read() as connection:
            read = [each.seq for each in log.read_many(connection, [1, 2, 3, 9], TENANT)]
        assert read == [1, 3]
