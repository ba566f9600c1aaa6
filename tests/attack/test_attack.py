"""Every attack in small: what comes out is judged, not how long it takes."""

from __future__ import annotations

import pytest
from tests.attack.attack import SHORT
from tests.attack.expectations import GROWTH_MIB
from tests.attack.kinds import KINDS, TOGETHER, Attacked, attack
from tests.attack.runs import Measured, Pace

PACE = Pace(attack=0.6, quiet=0.3, settle=0.3, rest=0.5, idle=0.3)
NAMES = [kind.name for kind in KINDS]


@pytest.fixture(scope="module")
def attacked(process: None) -> Attacked:
    """All attacks on one server, one after the other and at once."""
    return attack([*NAMES, TOGETHER], SHORT, PACE)


@pytest.fixture(params=[*NAMES, TOGETHER])
def measured(request: pytest.FixtureRequest, attacked: Attacked) -> Measured:
    """The measurements of one attack."""
    found = [each for each in attacked.runs if each.name == request.param]
    assert found, attacked.said
    return found[0]


def test_nothing_is_refused_to_the_other_tenant(measured: Measured) -> None:
    """Each call of the other tenant, and each for health, has a good answer."""
    for times in (measured.attacked.victim, measured.attacked.health):
        assert times.took
        assert (times.refused, times.dropped) == ({}, 0)


def test_an_attack_gets_the_answers_it_has_to_get(measured: Measured) -> None:
    """Statuses, bounds and order are as stated, and the log has no traceback."""
    assert measured.outcome.statuses
    assert not measured.outcome.broken


def test_memory_is_bounded(measured: Measured) -> None:
    """The server holds little more afterwards, and for connections, meanwhile."""
    assert not measured.bounds_growth or measured.growth <= GROWTH_MIB
    assert not measured.bounds_peak or measured.peak <= GROWTH_MIB
