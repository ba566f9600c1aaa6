"""The tests that define what a store derives from its log."""

from __future__ import annotations

import hashlib
from functools import partial
from uuid import UUID

import pytest
from tests.store_contract.examples import (
    API_KEY,
    OTHER_TENANT,
    POLICY,
    SECOND_NS,
    START_NS,
    TENANT,
    OpenStore,
    StorePlaces,
    decision_id,
    done,
    entity_id,
    entry,
)
from tests.store_contract.results import ResultContract

from tidegate_server.stores import retention
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import decisions, log, replay_jobs, snapshots
from tidegate_server.stores.decision_log.decisions import DecisionQuery
from tidegate_server.stores.index import catalog, idempotency, results
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.port import Store

HOUR_NS = 3600 * SECOND_NS
OTHER_POLICY = UUID("018f0000-0000-7000-8000-0000000000ab")


def key(number: int) -> tuple[bytes, bytes]:
    """The hash of an idempotency key and the fingerprint of its body."""
    digest = hashlib.sha256(b"%d" % number).digest()
    return digest[:16], digest[16:]


class DecisionContract(StorePlaces):
    """A search finds the decisions asked for, and no others."""

    @pytest.fixture
    def traffic(self, store: Store) -> Store:
        """Ten decisions of one tenant, a second apart, and one of another."""
        entries = [
            entry(
                number,
                received_at_ns=START_NS + number * SECOND_NS,
                action="block" if number % 3 == 0 else "allow",
                reason="policy" if number % 3 == 0 else "no-match",
                policy_id=POLICY if number % 3 == 0 else None,
                path=f"/shop/{number}",
                api_key_id=API_KEY if number % 2 else None,
                entity_ids=(entity_id(number % 4), entity_id(100)),
                fired=((POLICY, "Block"),) if number % 3 == 0 else (),
            )
            for number in range(10)
        ]
        for row in (entries[:4], entries[4:8], entries[8:]):
            done(store.append(row))
        done(store.append([entry(99, OTHER_TENANT)]))
        return store

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            (DecisionQuery(), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
            (DecisionQuery(action="block"), [9, 6, 3, 0]),
            (DecisionQuery(reason="no-match", api_key_id=API_KEY), [7, 5, 1]),
            (DecisionQuery(policy_id=POLICY), [9, 6, 3, 0]),
            (DecisionQuery(policy_id=OTHER_POLICY), []),
            (DecisionQuery(entity_id=entity_id(2)), [6, 2]),
            (DecisionQuery(path="/shop/4"), [4]),
            (DecisionQuery(path="/shop/*", action="block"), [9, 6, 3, 0]),
            (DecisionQuery(path="/SHOP/*"), []),
            (DecisionQuery(path="%"), []),
            (
                DecisionQuery(from_ns=START_NS + 3 * SECOND_NS, to_ns=START_NS + 6 * SECOND_NS),
                [5, 4, 3],
            ),
        ],
    )
    def test_a_search_finds_what_is_asked_for(
        self, traffic: Store, query: DecisionQuery, expected: list[int]
    ) -> None:
        """Every condition must hold; the newest comes first; other tenants' stay theirs."""
        with traffic.read() as connection:
            page = decisions.search(connection, TENANT, query, 50)
        assert [found.seq - 1 for found in page.decisions] == expected
        assert page.next_before is None

    @pytest.mark.parametrize("limit", [1, 3, 4, 10, 11])
    def test_pages_join_without_a_gap(self, traffic: Store, limit: int) -> None:
        """Following the cursor gives everything once."""
        seen = []
        before = None
        with traffic.read() as connection:
            while True:
                page = decisions.search(connection, TENANT, DecisionQuery(), limit, before)
                seen += [found.seq - 1 for found in page.decisions]
                before = page.next_before
                if before is None:
                    break
        assert seen == list(range(9, -1, -1))

    def test_a_rare_decision_costs_pages_and_not_a_stall(self, traffic: Store) -> None:
        """A page ends with the row in which the bound on examined decisions was reached, and says
        where to go on."""
        query = DecisionQuery(path="/shop/1")
        before = None
        pages: list[list[int]] = []
        with traffic.read() as connection:
            while not pages or before is not None:
                page = decisions.search(connection, TENANT, query, 5, before, max_examined=4)
                pages.append([found.seq - 1 for found in page.decisions])
                before = page.next_before
        assert pages == [[], [1]]

    def test_a_decision_is_found_by_id_by_its_tenant(self, traffic: Store) -> None:
        """All values by which decisions are found come back, and the log has the rest."""
        name = decision_id(3, START_NS + 3 * SECOND_NS)
        with traffic.read() as connection:
            found = decisions.find(connection, TENANT, name)
            assert found == decisions.FoundDecision(
                tenant_id=TENANT,
                decision_id=name,
                seq=4,
                received_at_ns=START_NS + 3 * SECOND_NS,
                observed_at_ns=START_NS + 3 * SECOND_NS,
                action="block",
                reason="policy",
                policy_id=POLICY,
                path="/shop/3",
                api_key_id=API_KEY,
                entity_ids=(entity_id(3), entity_id(100)),
                fired=((POLICY, "Block"),),
            )
            logged = log.read(connection, found.seq, TENANT).decision()
            assert logged.decision_id == name
            with pytest.raises(NotFoundError):
                decisions.find(connection, OTHER_TENANT, name)

    def test_a_clock_that_was_set_back_hides_nothing(self, store: Store) -> None:
        """Rows whose ids overlap are searched by id all the same, page by page."""
        # Of each append, the ids that it holds: after the second the clock goes back.
        appends = [[10, 11, 12], [20, 25, 30], [5, 21, 40], [13, 22, 31], [41]]
        for names in appends:
            done(
                store.append(
                    [entry(each, received_at_ns=START_NS + each * SECOND_NS) for each in names]
                )
            )
        expected = sorted((name for names in appends for name in names), reverse=True)

        def name(found: decisions.FoundDecision) -> int:
            return (found.received_at_ns - START_NS) // SECOND_NS

        with store.read() as connection:
            for limit, examined in ((1, 100), (2, 1), (4, 4), (50, 1), (50, 100)):
                seen: list[int] = []
                before = None
                while True:
                    page = decisions.search(
                        connection, TENANT, DecisionQuery(), limit, before, max_examined=examined
                    )
                    seen += [name(each) for each in page.decisions]
                    before = page.next_before
                    if before is None:
                        break
                assert seen == expected, (limit, examined)
            for each in expected:
                at = START_NS + each * SECOND_NS
                found = decisions.find(connection, TENANT, decision_id(each, at))
                assert name(found) == each
            with pytest.raises(NotFoundError):
                decisions.find(connection, TENANT, decision_id(23, START_NS + 23 * SECOND_NS))
            for start in range(0, 45, 3):
                for end in range(start, 48, 5):
                    within = [each for each in expected if start <= each < end]
                    times = START_NS + start * SECOND_NS, START_NS + end * SECOND_NS
                    query = DecisionQuery(from_ns=times[0], to_ns=times[1])
                    page = decisions.search(connection, TENANT, query, 50)
                    assert [name(each) for each in page.decisions] == within
                    span = decisions.span(connection, TENANT, *times)
                    assert (0 if span is None else span.count) == len(within)

    def test_indexing_goes_on_where_it_ended(self, url: str, open_store: OpenStore) -> None:
        """Nothing is indexed twice and nothing left out, however often a store is opened."""
        migrate(url)
        for round_number in range(3):
            store = open_store(url)
            first = round_number * 700
            done(
                store.append(
                    [
                        entry(number, fired=((POLICY, "Monitor"),))
                        for number in range(first, first + 700)
                    ]
                )
            )
            if round_number != 1:
                store.index_now()
                assert store.statistics().indexed_seq == first + 700
            store.close()
        store = open_store(url)
        store.index_now()
        with store.read() as connection:
            assert results.of_policy(connection, TENANT, POLICY).total == 2_100
        store.close()


class IdempotencyContract(StorePlaces):
    """A key leads to its decision for 24 hours."""

    def test_a_used_key_leads_to_its_answer(self, store: Store) -> None:
        """The fingerprint and the number of the decision are found by the hash."""
        done(store.append([entry(number, idempotency=key(number)) for number in range(1, 40)]))
        done(store.append([entry(40)]))
        store.index_now()
        with store.read() as connection:
            found = idempotency.find(connection, key(7)[0], START_NS + SECOND_NS)
            assert found == idempotency.UsedKey(key(7)[1], 7)
            assert log.read(connection, found.seq).decision().answer == b'{"number":7}'
            assert idempotency.find(connection, key(41)[0], START_NS) is None

    def test_a_key_is_free_again_after_a_day(self, store: Store) -> None:
        """A key counts for 24 hours and is forgotten an hour later at the latest."""
        done(store.append([entry(1, idempotency=key(1))]))
        store.index_now()
        with store.read() as connection:
            for hours, expected in ((0, True), (23, True), (24, True), (25, False)):
                found = idempotency.find(connection, key(1)[0], START_NS + hours * HOUR_NS)
                assert (found is not None) is expected, hours

    def test_the_first_decision_of_a_key_stays(self, store: Store) -> None:
        """A key that was logged twice in an hour leads to the first."""
        done(store.append([entry(1, idempotency=key(1)), entry(2, idempotency=key(1))]))
        store.index_now()
        with store.read() as connection:
            found = idempotency.find(connection, key(1)[0], START_NS)
        assert found is not None
        assert found.seq == 1

    def test_keys_of_the_day_are_listed_and_older_ones_pruned(self, store: Store) -> None:
        """A filter can be filled with the keys that still count."""
        entries = [
            entry(number, received_at_ns=START_NS + number * HOUR_NS, idempotency=key(number))
            for number in range(40)
        ]
        done(store.append(entries))
        store.index_now()
        now = START_NS + 39 * HOUR_NS
        with store.read() as connection:
            listed = dict(idempotency.used(connection, now))
        assert set(listed) == {key(number)[0] for number in range(15, 40)}
        assert all(listed[key(n)[0]] >= START_NS + n * HOUR_NS for n in range(15, 40))
        pruned = [done(store.derive(lambda c: idempotency.prune(c, now, 10))) for _ in range(3)]
        assert pruned == [10, 5, 0]
        with store.read() as connection:
            assert dict(idempotency.used(connection, now)) == listed


class CatalogContract(StorePlaces):
    """Names are learned from traffic."""

    def test_captured_names_have_events_and_a_distinct_count(self, store: Store) -> None:
        """An empty value does not count as present, and equal values count as one."""
        for start in range(0, 200, 20):
            entries = [
                entry(
                    number,
                    event={
                        "request": {"path": "/", "headers": {"X-App": "shop"}},
                        "fields": {
                            "account": f"account {number % 50}",
                            "coupon": "" if number % 4 else "SPRING",
                        },
                    },
                )
                for number in range(start, start + 20)
            ]
            done(store.append(entries))
            store.learn_now()
        with store.read() as connection:
            found = {each.name: each for each in catalog.fields(connection, TENANT)}
            assert catalog.fields(connection, OTHER_TENANT) == []
        assert set(found) == {"fields.account", "fields.coupon", "request.headers.x-app"}
        assert {each.events for each in found.values()} == {200}
        assert found["fields.account"].present == 200
        assert found["fields.coupon"].present == 50
        assert found["fields.coupon"].example == "SPRING"
        assert found["fields.coupon"].distinct_estimate == 1
        assert found["fields.account"].distinct_estimate == 50
        assert found["fields.account"].type == "string"
        assert found["fields.account"].last_seen_at_ns == START_NS + 199

    def test_names_are_capped(self, store: Store) -> None:
        """Nobody can fill the database by inventing names; known ones go on being counted."""
        for round_number in range(13):
            invented = {f"name{round_number}_{number}": "x" for number in range(100)}
            done(store.append([entry(round_number, event={"fields": {"kept": 1, **invented}})]))
            store.learn_now()
        with store.read() as connection:
            found = catalog.fields(connection, TENANT)
        assert len(found) == catalog.Bounds().names
        kept = next(each for each in found if each.name == "fields.kept")
        assert (kept.present, kept.events, kept.type) == (13, 13, "int")

    def test_a_type_that_varies_is_dynamic(self, store: Store) -> None:
        """A name that is sometimes a number and sometimes text has the type ``dyn``."""
        for value in (1, "one"):
            done(store.append([entry(1, event={"fields": {"n": value}})]))
            store.learn_now()
        with store.read() as connection:
            (found,) = catalog.fields(connection, TENANT)
        assert found.type == "dyn"

    def test_every_decision_is_learned_from(self, store: Store) -> None:
        """The catalog learns from each of many decisions, and not from a lift."""
        entries = [
            entry(number, event={"fields": {"half": f"x{number}" if number % 2 else ""}})
            for number in range(3_000)
        ]
        done(store.append(entries))
        store.learn_now()
        with store.read() as connection:
            (found,) = catalog.fields(connection, TENANT)
        assert (found.present, found.events) == (1_500, 3_000)
        assert abs(found.distinct_estimate - 1_500) <= 75


class RetentionContract(StorePlaces):
    """Retention deletes old entries, a little at a time, and nothing else."""

    def test_old_decisions_go_and_young_ones_stay(self, shop: Store) -> None:
        """Log, index and counts forget the same decisions."""
        old = [
            entry(number, received_at_ns=START_NS + number, fired=((POLICY, "Monitor"),))
            for number in range(600)
        ]
        later = START_NS + 24 * HOUR_NS
        young = [entry(number, received_at_ns=later + number) for number in range(5)]
        done(shop.append([*old, entry(1, OTHER_TENANT)]))
        done(shop.append(young))
        last = shop.flush_derived()
        assert last == 606
        steps: list[int] = []
        while not steps or steps[-1]:
            steps.append(
                done(shop.write(lambda c: retention.prune(c, TENANT, later, last, limit=100)))
            )
        assert len(steps) > 2
        assert max(steps) <= 1
        while done(shop.derive(lambda c: retention.prune_derived(c, TENANT, later, 100))):
            pass
        with shop.read() as connection:
            left = [each.tenant_id for each in log.scan(connection)]
            assert left == [OTHER_TENANT] + [TENANT] * 5
            page = decisions.search(connection, TENANT, DecisionQuery(), 50)
            assert len(page.decisions) == 5
            assert results.of_policy(connection, TENANT, POLICY).total == 0
            assert results.of_policy(connection, TENANT).total == 5

    def test_what_a_start_needs_stays(self, shop: Store) -> None:
        """Nothing after the oldest snapshot is deleted, whatever its age."""
        rows = [[entry(10 * row + number) for number in range(3)] for row in range(4)]
        for row in rows:
            done(shop.append(row))
        shop.index_now()
        later = START_NS + 24 * HOUR_NS
        with shop.read() as connection:
            assert retention.newest_seq(connection, TENANT, later) == 12
            assert retention.newest_seq(connection, TENANT, START_NS) == 0
            assert retention.safe_seq(connection, TENANT) == 0
        for seq in (7, 12):
            snapshot = snapshots.Snapshot(
                tenant_id=TENANT, seq=seq, revision=1, body=b"{}", created_at_ns=START_NS
            )
            done(shop.write(partial(snapshots.save, snapshot=snapshot)))
        with shop.read() as connection:
            safe = retention.safe_seq(connection, TENANT)
        assert safe == 7
        while done(shop.write(lambda c: retention.prune(c, TENANT, later, safe))):
            pass
        with shop.read() as connection:
            assert [each.seq for each in log.scan(connection)] == [7, 8, 9, 10, 11, 12]
            page = decisions.search(connection, TENANT, DecisionQuery(), 50)
            assert [each.seq for each in page.decisions] == [12, 11, 10, 9, 8, 7]

    def test_examples_and_replays_go_with_the_decisions(self, shop: Store) -> None:
        """Values of deleted events are in no table."""
        done(shop.append([entry(1, event={"fields": {"name": "ann"}})]))
        shop.learn_now()
        job = replay_jobs.ReplayJob(
            job_id=decision_id(1),
            tenant_id=TENANT,
            request={},
            actor="ann",
            finished_at_ns=START_NS,
            created_at_ns=START_NS,
            updated_at_ns=START_NS,
        )
        done(shop.write(lambda connection: replay_jobs.create(connection, job)))
        done(shop.write(lambda c: retention.prune(c, TENANT, START_NS, 1)))
        done(shop.derive(lambda c: retention.prune_derived(c, TENANT, START_NS)))
        with shop.read() as connection:
            assert len(catalog.fields(connection, TENANT)) == 1
            assert len(replay_jobs.page(connection, TENANT, 9)) == 1
        done(shop.write(lambda c: retention.prune(c, TENANT, START_NS + HOUR_NS, 1)))
        done(shop.derive(lambda c: retention.prune_derived(c, TENANT, START_NS + HOUR_NS)))
        with shop.read() as connection:
            assert catalog.fields(connection, TENANT) == []
            assert replay_jobs.page(connection, TENANT, 9) == []

    def test_numbers_are_not_given_again(self, url: str, open_store: OpenStore) -> None:
        """A log that was emptied continues with the next number."""
        migrate(url)
        store = open_store(url)
        done(store.append([entry(1), entry(2)]))
        store.index_now()
        far = START_NS + HOUR_NS
        done(store.write(lambda connection: retention.prune(connection, TENANT, far, 2)))
        store.close()
        store = open_store(url)
        with store.read() as connection:
            assert list(log.scan(connection)) == []
        done(store.append([entry(3)]))
        with store.read() as connection:
            assert [each.seq for each in log.scan(connection)] == [3]
        store.index_now()
        store.close()

    def test_what_was_flushed_is_counted(self, store: Store) -> None:
        """The log may go up to the number that a flush gives, and is counted all the same."""
        far = START_NS + HOUR_NS
        done(store.append([entry(number) for number in range(10)]))
        flushed = store.flush_derived()
        done(store.append([entry(number) for number in range(10, 15)]))
        done(store.write(lambda c: retention.prune(c, TENANT, far, flushed)))
        with store.read() as connection:
            assert [each.seq for each in log.scan(connection)] == [11, 12, 13, 14, 15]
        store.index_now()
        with store.read() as connection:
            assert results.of_policy(connection, TENANT).total == 15

    def test_a_deleted_tenant_is_forgotten(self, shop: Store) -> None:
        """A deleted tenant's decisions stay only until someone cleans up."""
        done(shop.append([entry(1, event={"fields": {"a": "b"}}), entry(2, OTHER_TENANT)]))
        shop_seq = shop.flush_derived()
        done(shop.write(lambda connection: tenants.delete(connection, TENANT)))
        with shop.read() as connection:
            assert retention.orphans(connection) == [TENANT]
        far = retention.END_OF_TIME_NS
        assert done(shop.write(lambda c: retention.prune(c, TENANT, far, shop_seq))) > 0
        while done(shop.derive(lambda c: retention.forget_derived(c, TENANT))):
            pass
        with shop.read() as connection:
            assert retention.orphans(connection) == []
            assert [each.tenant_id for each in log.scan(connection)] == [OTHER_TENANT]


class IndexContract(
    DecisionContract, IdempotencyContract, ResultContract, CatalogContract, RetentionContract
):
    """Everything that is derived from the log."""
