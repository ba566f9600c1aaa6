"""The tests that define what a store counts, and how a search finds what it counted."""

from __future__ import annotations

from uuid import UUID

import attrs
import pytest
from tests.store_contract.examples import (
    OTHER_TENANT,
    POLICY,
    SECOND_NS,
    START_NS,
    TENANT,
    StorePlaces,
    done,
    entry,
)

from tidegate_server.stores.decision_log import decisions
from tidegate_server.stores.decision_log.decisions import DecisionQuery
from tidegate_server.stores.index import results
from tidegate_server.stores.port import Store

HOUR_NS = 3600 * SECOND_NS
OTHER_POLICY = UUID("018f0000-0000-7000-8000-0000000000ab")


class ResultContract(StorePlaces):
    """The outcomes of policies are counted, once each."""

    @pytest.fixture
    def counted(self, store: Store) -> Store:
        """Six decisions over three minutes, in two appends."""
        minute = 60 * SECOND_NS
        done(
            store.append(
                [
                    entry(1),
                    entry(2, fired=((POLICY, "Monitor"),)),
                    entry(
                        3,
                        action="block",
                        policy_id=POLICY,
                        fired=((POLICY, "Block"), (OTHER_POLICY, "Monitor")),
                    ),
                    entry(
                        4,
                        OTHER_TENANT,
                        action="block",
                        policy_id=POLICY,
                        fired=((POLICY, "Block"),),
                    ),
                ]
            )
        )
        store.index_now()
        done(
            store.append(
                [
                    entry(
                        5,
                        observed_at_ns=START_NS + minute + 1,
                        action="challenge",
                        policy_id=POLICY,
                        fired=((POLICY, "Challenge"),),
                        errors=(str(OTHER_POLICY), ""),
                    ),
                    entry(6, observed_at_ns=START_NS + 2 * minute, errors=("",)),
                ]
            )
        )
        store.index_now()
        return store

    def test_counts_by_policy(self, counted: Store) -> None:
        """Each policy has its own counts, and all decisions have theirs."""
        with counted.read() as connection:
            found = results.by_policy(connection, TENANT)
            one = results.of_policy(connection, TENANT, POLICY)
            none = results.of_policy(connection, TENANT, UUID(int=5))
        minute_later = START_NS + 60 * SECOND_NS + 1
        assert found == {
            results.ALL: results.Counts(
                total=5,
                allow=3,
                challenge=1,
                block=1,
                monitor=1,
                errors=2,
                last_match_ns=START_NS + 120 * SECOND_NS,
            ),
            POLICY: results.Counts(
                total=3, allow=1, challenge=1, block=1, monitor=1, last_match_ns=minute_later
            ),
            OTHER_POLICY: results.Counts(
                total=1, by_others=1, monitor=1, errors=1, last_match_ns=START_NS + 3
            ),
        }
        assert one == found[POLICY]
        assert none == results.Counts()

    def test_counts_within_a_time(self, counted: Store) -> None:
        """Minutes before and after are left out."""
        minute = START_NS + 60 * SECOND_NS
        with counted.read() as connection:
            period = results.Period(from_ns=minute, to_ns=minute + 60 * SECOND_NS)
            found = results.by_policy(connection, TENANT, period)
            received = attrs.evolve(period, clock="received")
            assert results.by_policy(connection, TENANT, received) == {}
        assert found[results.ALL].total == 1
        assert found[POLICY].challenge == 1

    def test_an_answer_counts_for_the_policy_that_gave_it(self, store: Store) -> None:
        """Only the policy that answered counts the answer: policies' counts add up to all."""
        fired = ((POLICY, "Block"), (OTHER_POLICY, "Block"))
        challenged = entry(1, action="challenge", policy_id=POLICY, fired=fired)
        blocked = entry(2, action="block", policy_id=OTHER_POLICY, fired=fired)
        done(store.append([challenged, blocked]))
        store.index_now()
        with store.read() as connection:
            found = results.by_policy(connection, TENANT)
        expected = results.Counts(total=2, by_others=1, last_match_ns=START_NS + 2)
        assert found[POLICY] == attrs.evolve(expected, challenge=1)
        assert found[OTHER_POLICY] == attrs.evolve(expected, block=1)

    def test_what_was_observed_is_found_whenever_it_arrived(self, store: Store) -> None:
        """Late events are found by the time they happened at, counted already or not, in pages."""
        # Number of the hour observed, and of that received.
        times = [(0, 0), (1, 1), (0, 2), (2, 2), (1, 5), (0, 6)]
        entries = [
            entry(
                number,
                observed_at_ns=START_NS + observed * HOUR_NS,
                received_at_ns=START_NS + received * HOUR_NS,
            )
            for number, (observed, received) in enumerate(times)
        ]
        done(store.append(entries[:2]))
        done(store.append(entries[2:5]))
        store.index_now()
        done(store.append(entries[5:]))
        for hour in range(3):
            bounds = START_NS + hour * HOUR_NS, START_NS + (hour + 1) * HOUR_NS
            period = results.Period(from_ns=bounds[0], to_ns=bounds[1])
            query = DecisionQuery(from_ns=bounds[0], to_ns=bounds[1])
            seen: list[int] = []
            before = None
            with store.read() as connection:
                spans = results.received(connection, TENANT, period)
                while True:
                    page = decisions.search(connection, TENANT, query, 1, before, spans)
                    seen += [found.seq - 1 for found in page.decisions]
                    before = page.next_before
                    if before is None:
                        break
                page = decisions.search(connection, TENANT, query, 9)
            expected = [each for each in reversed(range(6)) if times[each][0] == hour]
            assert seen == [found.seq - 1 for found in page.decisions] == expected

    def test_a_timeline_has_steps(self, counted: Store) -> None:
        """Steps with nothing in them are left out; longer steps hold more."""
        until = START_NS + 600 * SECOND_NS
        with counted.read() as connection:
            period = results.Period(from_ns=START_NS, to_ns=until)
            minutes = results.timeline(connection, TENANT, results.ALL, period, 60)
            hours = results.timeline(connection, TENANT, POLICY, period, 3600)
            received = attrs.evolve(period, clock="received")
            at_once = results.timeline(connection, TENANT, results.ALL, received, 60)
            with pytest.raises(ValueError, match="90"):
                results.timeline(connection, TENANT, POLICY, period, 90)
        starts = [START_NS + number * 60 * SECOND_NS for number in range(3)]
        assert [(step.start_ns, step.counts.total) for step in minutes] == [
            (starts[0], 3),
            (starts[1], 1),
            (starts[2], 1),
        ]
        assert [step.counts.total for step in hours] == [3]
        assert [(step.start_ns, step.counts.total) for step in at_once] == [(starts[0], 5)]
        assert hours[0].start_ns % (3600 * SECOND_NS) == 0
