"""The tests that define what a store keeps of challenges: sessions, solutions, passes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import attrs
import pytest
from tests.store_contract.examples import (
    LATER_NS,
    OTHER_TENANT,
    SECOND_NS,
    START_NS,
    TENANT,
    StorePlaces,
    decision_id,
    done,
    entry,
    numbered,
    tenant,
)

from tidegate_server.stores import retention
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.decision_log import decisions
from tidegate_server.stores.objects import challenges, passes, tenants
from tidegate_server.stores.objects.challenges import ChallengeCounts, ChallengeSession
from tidegate_server.stores.objects.passes import Pass
from tidegate_server.stores.port import Store

END_NS = START_NS + 900 * SECOND_NS


def session(number: int, **members: Any) -> ChallengeSession:
    """A session; the number is in its id."""
    made = ChallengeSession(
        challenge_id=decision_id(number),
        tenant_id=TENANT,
        opened_at_ns=START_NS + number,
        expires_at_ns=END_NS,
        provider="pow",
        stage="first",
        actor=bytes(16),
        revision=1,
        parameters={"parameters": {"cost": 4_096}},
        sealed=b"sealed",
        host="shop.example",
        template=None,
    )
    return attrs.evolve(made, **members)


def bought(number: int, challenge: int, **members: Any) -> Pass:
    """A pass that a solution buys."""
    made = Pass(
        pass_id=numbered(number),
        tenant_id=TENANT,
        challenge_id=decision_id(challenge),
        provider="pow",
        issued_at_ns=LATER_NS,
        expires_at_ns=END_NS,
    )
    return attrs.evolve(made, **members)


def run(store: Store, work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a write, once it is committed."""
    return done(store.write(lambda connection: work(connection, *arguments)))


class ChallengeContract(StorePlaces):
    """Sessions of challenges, the one solution of each, and the passes bought."""

    def test_a_session_is_opened_once(self, store: Store) -> None:
        """A later opening gets the session that is there."""
        first, second = session(1), session(1, provider="turnstile")
        opened = [run(store, challenges.open_session, each) for each in (first, second)]
        assert opened == [first, first]
        with store.read() as connection:
            assert challenges.find(connection, first.challenge_id) == first
            with pytest.raises(NotFoundError):
                challenges.find(connection, decision_id(2))

    def test_a_solution_is_spent_once(self, store: Store) -> None:
        """If many solutions come at one time, one buys a pass, and only its pass is there."""
        run(store, challenges.open_session, session(1))
        racing: list[Future[bool]] = [
            store.write(partial(challenges.burn, made=bought(number, 1))) for number in range(64)
        ]
        assert sum(each.result(30) for each in racing) == 1
        with store.read() as connection:
            assert len(passes.page(connection, TENANT, 100)) == 1
            found = challenges.find(connection, decision_id(1))
        assert (found.solved_at_ns, found.solved_by) == (LATER_NS, "pow")

    def test_a_solution_comes_in_time_or_not_at_all(self, store: Store) -> None:
        """A session that is over, or was never opened, buys nothing."""
        run(store, challenges.open_session, session(1))
        late = bought(1, 1, issued_at_ns=END_NS)
        for each in (late, bought(2, 2)):
            assert not run(store, challenges.burn, each)
        with store.read() as connection:
            assert passes.page(connection, TENANT, 10) == []

    def test_rounds_are_those_of_an_actor_in_a_while(self, store: Store) -> None:
        """Sessions of other actors and tenants, and earlier ones, do not count."""
        actor, other = b"a" * 16, b"b" * 16
        for number in range(3):
            run(store, challenges.open_session, session(number, actor=actor))
        run(store, challenges.open_session, session(3, actor=other))
        run(store, challenges.open_session, session(4, actor=actor, tenant_id=OTHER_TENANT))
        with store.read() as connection:
            counted = partial(challenges.rounds, connection, TENANT, actor)
            assert counted(START_NS, END_NS) == 3
            assert counted(START_NS + 1, END_NS) == 2

    def test_a_session_that_may_still_be_solved_is_no_round(self, store: Store) -> None:
        """A session is a round once it is solved, or open for long."""
        actor = bytes(16)
        for number in range(3):
            run(store, challenges.open_session, session(number, actor=actor))
        assert run(store, challenges.burn, bought(2, 2))
        with store.read() as connection:
            counted = partial(challenges.rounds, connection, TENANT, actor, START_NS)
            assert [counted(START_NS + number) for number in (-1, 0, 1, 2)] == [1, 2, 3, 3]

    def test_a_solution_says_whose_round_it_was(self, store: Store) -> None:
        """A solver that is another actor than the opener gets the round."""
        actor, other = b"a" * 16, b"b" * 16
        for number in range(2):
            run(store, challenges.open_session, session(number, actor=actor))
        assert run(store, challenges.burn, bought(1, 1), other)
        with store.read() as connection:
            counted = partial(challenges.rounds, connection, TENANT)
            assert [counted(each, START_NS, END_NS) for each in (actor, other)] == [1, 1]

    def test_challenges_are_counted_by_provider(self, store: Store) -> None:
        """Counts of a span of time: issued, solved, failed, looped, and the time of solving."""
        kinds: tuple[dict[str, Any], ...] = (
            {},
            {},
            {"stage": "stopped"},
            {"provider": "turnstile"},
            {"tenant_id": OTHER_TENANT},
        )
        for number, members in enumerate(kinds):
            at = START_NS + number * SECOND_NS
            run(store, challenges.open_session, session(number, opened_at_ns=at, **members))
        spent = bought(1, 1, issued_at_ns=START_NS + 3 * SECOND_NS)
        assert run(store, challenges.burn, spent)
        for _ in range(2):
            run(store, challenges.failed, decision_id(0))
        with store.read() as connection:
            assert challenges.counts(connection, TENANT, None, None) == [
                ChallengeCounts(
                    provider="pow", issued=3, solved=1, failed=2, looped=1, seconds=2.0
                ),
                ChallengeCounts(
                    provider="turnstile", issued=1, solved=0, failed=0, looped=0, seconds=0
                ),
            ]
            until = challenges.counts(connection, TENANT, None, START_NS + SECOND_NS)
            since = challenges.counts(connection, TENANT, START_NS + 2 * SECOND_NS, None)
        assert [each.issued for each in until] == [1]
        assert [each.issued for each in since] == [1, 1]

    def test_passes_are_paged_and_counted(self, store: Store) -> None:
        """One tenant's passes are listed newest first, all of them or those that live."""
        for number in range(4):
            owner = OTHER_TENANT if number == 3 else TENANT
            made = bought(number, number, expires_at_ns=END_NS + number, tenant_id=owner)
            run(store, passes.add, made)
        with store.read() as connection:
            page = passes.page(connection, TENANT, 2)
            rest = passes.page(connection, TENANT, 2, page[-1].pass_id)
            living = passes.page(connection, TENANT, 9, alive_at_ns=END_NS + 1)
            assert passes.alive(connection, END_NS + 1, TENANT) == 1
            assert passes.alive(connection, END_NS + 1) == 2
            assert passes.find(connection, TENANT, numbered(0)).challenge_id == decision_id(0)
            with pytest.raises(NotFoundError):
                passes.find(connection, TENANT, numbered(3))
        assert [each.pass_id for each in (*page, *rest)] == [numbered(n) for n in (2, 1, 0)]
        assert [each.pass_id for each in living] == [numbered(2)]

    def test_old_sessions_and_passes_are_forgotten(self, store: Store) -> None:
        """Old sessions and passes of one tenant are deleted a few at a time."""
        for number in range(3):
            run(store, challenges.open_session, session(number))
            run(store, passes.add, bought(number, number, expires_at_ns=START_NS + number))
        for prune in (challenges.prune, passes.prune):
            assert run(store, prune, OTHER_TENANT, END_NS) == 0
            for limit, pruned in ((1, 1), (9, 1), (9, 0)):
                assert run(store, prune, TENANT, START_NS + 2, limit) == pruned

    def test_nothing_is_left_of_a_deleted_tenant(self, shop: Store) -> None:
        """A deleted tenant's sessions and passes are found, and deleted in steps."""
        run(shop, challenges.open_session, session(1))
        run(shop, challenges.burn, bought(1, 1))
        run(shop, tenants.delete, TENANT)
        with shop.read() as connection:
            assert retention.orphans(connection) == [TENANT]
        while run(shop, retention.forget, TENANT):
            pass
        with shop.read() as connection:
            assert retention.orphans(connection) == []

    def test_a_decision_is_found_without_its_tenant(self, store: Store) -> None:
        """A decision is found by its id alone, whatever its tenant."""
        for each in (tenant(), tenant(OTHER_TENANT, "Other")):
            run(store, tenants.create, each)
        for number in range(9):
            owner = (TENANT, OTHER_TENANT)[number % 2]
            done(store.append([entry(number, owner)]))
        with store.read() as connection:
            for number in range(9):
                found = decisions.find_of_any(connection, decision_id(number))
                assert found.tenant_id == (TENANT, OTHER_TENANT)[number % 2]
            with pytest.raises(NotFoundError):
                decisions.find_of_any(connection, decision_id(9))
