"""The cost of a tenant's decisions, by which they are made on the loop or off it."""

from __future__ import annotations

from tidegate_server.turns.account import (
    ENOUGH,
    FORGIVEN_NS,
    HELD_NS,
    LIGHT_NS,
    LIGHT_WORK,
    LONGEST_TERM_NS,
    MARGIN,
    PROOF,
    SMALL_BYTES,
    STEP_NS,
    TERM_NS,
    Account,
)

CHEAP = 20_000
SMALL = 200
"""Units of work of a decision that is light."""
DEAR = LIGHT_WORK + 1
"""The work of a decision that can be heavy."""


def proven(now: int = 0) -> Account:
    made = Account()
    made.is_of((1, 1))
    for _ in range(PROOF):
        made.charge(1, 100, CHEAP, SMALL, now)
    return made


def test_a_tenant_is_light_when_enough_of_its_calls_were() -> None:
    """A tenant is decided on the loop once enough of its calls were light."""
    account = Account()
    for _ in range(PROOF):
        assert account.largest(0) == -1
        account.charge(1, 100, CHEAP, SMALL, 0)
    assert account.largest(0) == SMALL_BYTES


def test_nothing_is_known_of_other_definitions() -> None:
    """A change of definitions or settings makes a tenant unknown again."""
    account = proven()
    account.is_of((1, 1))
    assert account.largest(0) > 0
    account.is_of((1, 2))
    assert account.largest(0) == -1
    assert account.calls(16) == 1


def test_one_heavy_step_makes_a_tenant_heavy_for_a_while() -> None:
    """Light ones after it do not change that; when the time is over it has to be proven anew."""
    account = proven()
    assert account.charge(1, 100, HELD_NS + 1, DEAR, 1)
    assert not account.charge(1, 100, HELD_NS + 1, DEAR, 2)
    for now in range(3, 100):
        account.charge(1, 100, CHEAP, SMALL, now)
    end = 2 + TERM_NS
    assert account.is_heavy(end - 1)
    assert account.largest(end - 1) == -1
    assert not account.is_heavy(end)
    assert account.largest(end) == -1
    for _ in range(PROOF):
        account.charge(1, 100, CHEAP, SMALL, end)
    assert account.largest(end) == SMALL_BYTES


def test_who_is_heavy_again_is_heavy_for_longer() -> None:
    """A tenant that is heavy again stays heavy for longer, up to a bound; a long quiet time resets
    it."""
    account, now, terms = proven(), 0, []
    for _ in range(12):
        account.charge(1, 100, HELD_NS + 1, DEAR, now)
        term = TERM_NS
        while account.is_heavy(now + term):
            term *= 2
        terms.append(term)
        now += term
        assert account.largest(now) == -1
        for _ in range(PROOF):
            account.charge(1, 100, CHEAP, SMALL, now)
        assert account.largest(now) > 0
    assert terms[:3] == [TERM_NS, 2 * TERM_NS, 4 * TERM_NS]
    assert terms[-1] == terms[-2] >= LONGEST_TERM_NS
    now += FORGIVEN_NS + 1
    account.charge(1, 100, HELD_NS + 1, DEAR, now)
    assert not account.is_heavy(now + TERM_NS)


def test_calls_that_are_dear_each_make_a_tenant_heavy() -> None:
    """Dear calls make a tenant heavy, except the first one."""
    account = Account()
    account.is_of((1, 1))
    heavy = [account.charge(1, 100, LIGHT_NS + 1, SMALL, 0) for _ in range(ENOUGH + 1)]
    assert heavy.index(True) == ENOUGH - 1
    light = Account()
    light.charge(1, 100, 4 * LIGHT_NS, SMALL, 0)
    light.charge(1, 100, CHEAP, SMALL, 0)
    assert not light.is_heavy(0)


def test_a_heavy_call_does_not_hide_among_light_ones() -> None:
    """A step that holds the loop makes its tenant heavy, though its calls are light on average."""
    account = proven()
    assert HELD_NS + 1 < 256 * LIGHT_NS
    assert account.charge(256, 100, HELD_NS + 1, DEAR, 1)
    assert account.is_heavy(1)


def test_light_decisions_that_take_long_make_nobody_heavy() -> None:
    """A long step of decisions of little work says something of the machine and not of the
    tenant: the next ones have fewer calls."""
    account = proven()
    assert not account.charge(100, 100, 2 * HELD_NS, SMALL, 1)
    assert not account.charge(1, 100, 2 * HELD_NS, SMALL, 2)
    assert account.largest(2) > 0
    assert account.calls(256) == 1


def test_a_heavy_tenant_is_heavy_for_no_longer_by_light_decisions_that_take_long() -> None:
    """Only dear decisions lengthen the time for which a tenant is heavy."""
    account = proven()
    account.charge(1, 100, HELD_NS + 1, DEAR, 0)
    for now in range(1, 100):
        account.charge(1, 100, 2 * LIGHT_NS if now % 10 == 0 else CHEAP, SMALL, now)
    assert not account.is_heavy(TERM_NS)
    account = proven()
    account.charge(1, 100, HELD_NS + 1, DEAR, 0)
    account.charge(1, 100, 2 * LIGHT_NS, DEAR, 99)
    assert account.is_heavy(TERM_NS)


def test_a_step_has_as_many_calls_as_its_time_allows() -> None:
    """A step has at least one call, at once fewer after a long step, and slowly more."""
    account = proven()
    assert account.calls(256) == STEP_NS // CHEAP
    assert account.calls(16) == 16
    account.charge(100, 100, 2 * STEP_NS, SMALL, 0)
    assert account.calls(256) == 50
    account.charge(50, 100, 50 * CHEAP, SMALL, 0)
    assert 50 < account.calls(256) < 100
    account.charge(1, 100, 10 * CHEAP, SMALL, 0)
    assert account.calls(256) > 50, "a step of one call says little"
    account.charge(1, 100, 2 * STEP_NS, SMALL, 0)
    assert account.calls(256) == 1


def test_a_larger_event_than_all_before_is_measured_beside_the_loop() -> None:
    """The first event of a new size is decided off the loop, others of its size on it."""
    account = proven()
    account.charge(1, 10_000, CHEAP, SMALL, 0)
    assert account.largest(0) == MARGIN * 10_000
    account.charge(1, 10, CHEAP, SMALL, 0)
    assert account.largest(0) == MARGIN * 10_000
