"""Places that requests hold."""

from __future__ import annotations

from contextlib import ExitStack, suppress

import pytest

from tidegate_server.http.problems import Problem
from tidegate_server.offload.kinds import Crowd
from tidegate_server.offload.slots import Holder, Party, Places, default_slots

ANN, BOB = (Party.OPERATOR, "ann"), (Party.OPERATOR, "bob")
SHOP: Holder = (Party.TENANT, "shop")


def places(most: int = 10) -> Places:
    return Places(most, {Party.OPERATOR: 2, Party.TENANT: 3, Party.CLIENT: 4})


def test_one_caller_has_its_share_and_no_more() -> None:
    """A request past the caller's share is refused at once; others are accepted."""
    held = places()
    with held.take([ANN]), held.take([ANN]):
        with pytest.raises(Problem) as refused, held.take([ANN]):
            pass
        assert (refused.value.code, refused.value.status) == ("too-many-requests", 429)
        assert refused.value.headers == {"retry-after": "1"}
        with held.take([BOB]):
            pass
    with held.take([ANN]):
        pass
    assert held.taken == 0


def test_a_tenant_has_its_share_whoever_asks() -> None:
    """Many operators of one tenant do not have more of it."""
    held = places()
    others: list[Holder] = [(Party.OPERATOR, number) for number in range(3)]
    with held.take([others[0], SHOP]), held.take([others[1], SHOP]), held.take([others[2], SHOP]):
        with pytest.raises(Problem) as refused, held.take([ANN, SHOP]):
            pass
        assert "tenant" in refused.value.detail


def test_past_all_places_the_service_is_overloaded() -> None:
    """503, which is nobody's fault alone; and an exception gives the place back."""
    held = places(most=1)
    with held.take([ANN]):
        with pytest.raises(Problem) as refused, held.take([BOB]):
            pass
        assert (refused.value.code, refused.value.status) == ("overloaded", 503)
    with pytest.raises(ZeroDivisionError), held.take([ANN]):
        raise ZeroDivisionError
    assert held.taken == 0


def test_clients_leave_room_for_others() -> None:
    """Once half of the places are taken, each client has one at a time."""
    held = Places(10, {Party.CLIENT: 10})
    with ExitStack() as stack:

        def taken(name: str) -> int:
            for count in range(11):
                try:
                    stack.enter_context(held.take([(Party.CLIENT, name)]))
                except Problem as refused:
                    assert (refused.code, refused.status) == ("overloaded", 503)
                    return count
            raise AssertionError

        assert [taken(name) for name in "abcdef"] == [5, 1, 1, 1, 1, 1]
        assert held.taken == 10
        assert taken("g") == 0
    assert held.taken == 0


@pytest.mark.parametrize("crowd", [Crowd.PUBLIC, Crowd.LOGIN, Crowd.VISITORS])
@pytest.mark.parametrize("takes_turns", [True, False])
def test_sixteen_clients_hold_no_crowd(crowd: Crowd, takes_turns: bool) -> None:
    """A newcomer finds a place though sixteen strangers take all they get, in any order."""
    held = default_slots()[crowd]
    order = [number for _ in range(128) for number in range(16)]
    with ExitStack() as stack:
        for number in order if takes_turns else sorted(order):
            with suppress(Problem):
                stack.enter_context(held.take([(Party.CLIENT, number)]))
        with held.take([(Party.CLIENT, "newcomer")]):
            pass


@pytest.mark.parametrize("crowd", [Crowd.LIGHT, Crowd.HEAVY, Crowd.TRAFFIC])
def test_operators_have_places_that_no_client_has(crowd: Crowd) -> None:
    """Nobody without a token can take a place of theirs."""
    with pytest.raises(KeyError), default_slots()[crowd].take([(Party.CLIENT, "stranger")]):
        pass


def test_an_operator_may_load_a_page_of_the_console_twice_at_once() -> None:
    """The overview asks ten things at once, and a reload asks them again before they are done."""
    light, operator = default_slots()[Crowd.LIGHT], [(Party.OPERATOR, "ann")]
    with ExitStack() as stack:
        for _ in range(2 * 10):
            stack.enter_context(light.take(operator))


def test_an_operator_may_load_the_overview_again_while_traffic_is_searched() -> None:
    """It searches traffic for two things; those of two pages that were left still run."""
    traffic, operator = default_slots()[Crowd.TRAFFIC], [(Party.OPERATOR, "ann")]
    with ExitStack() as stack:
        for _ in range(3 * 2):
            stack.enter_context(traffic.take(operator))
