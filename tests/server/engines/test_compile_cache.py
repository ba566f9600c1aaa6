"""Compiled definitions that a worker keeps."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from tidegate.policy.definitions.model import Definitions, Policy
from tidegate_server.engines.compile_cache import MAX_POLICIES, MAX_SETS, CompileCache

SHOP = UUID(int=1)
POLICY = Policy(policy_id="one", name="One", slug="one", clauses=())


def kept(sizes: list[int]) -> list[int]:
    """The revisions that are still known, of sets of some sizes that were used in this order."""
    known = CompileCache()
    for revision, size in enumerate(sizes):
        known.of_revision(SHOP, revision, partial(Definitions, policies=(POLICY,) * size))
    return [revision for revision in range(len(sizes)) if known.find(SHOP, revision)]


def test_a_few_small_sets_are_kept() -> None:
    """The sets that were used last are kept."""
    assert kept([1] * (MAX_SETS + 1)) == [*range(1, MAX_SETS + 1)]


def test_sets_are_bounded_by_what_they_hold_together() -> None:
    """However often a large set is replaced, one of its size is kept."""
    assert kept([MAX_POLICIES] * 3) == [2]
    assert kept([MAX_POLICIES // 2 + 1] * 3) == [2]
    assert kept([1, MAX_POLICIES - 2, 1]) == [0, 1, 2]


def test_the_set_used_last_is_kept_whatever_its_size() -> None:
    """Else each question about it would compile it anew."""
    assert kept([1, MAX_POLICIES + 1]) == [1]
