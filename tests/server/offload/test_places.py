"""Places that requests hold."""

from __future__ import annotations

import pytest

from tidegate.server.http.problems import Problem
from tidegate.server.offload.places import Holder, Party, Places

ANN, BOB = (Party.OPERATOR, "ann"), (Party.OPERATOR, "bob")
SHOP: Holder = (Party.TENANT, "shop")


def places(most: int = 10) -> Places:
    return Places(most, {Party.OPERATOR: 2, Party.TENANT: 3, Party.ADDRESS: 1})


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
