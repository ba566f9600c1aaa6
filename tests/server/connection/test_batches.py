"""Room for batches: a share for each tenant, and a bound on all."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tidegate_server.connection.batches import MAX_BYTES, MAX_TENANT_BYTES, BatchRoom
from tidegate_server.http.limits import MAX_BATCH_BYTES
from tidegate_server.http.problems import Problem


def test_a_tenant_has_its_share() -> None:
    """A tenant's fifth batch of the largest size is refused, while another tenant's small one is
    taken."""
    room = BatchRoom()
    with ExitStack() as stack:
        for _ in range(MAX_TENANT_BYTES // MAX_BATCH_BYTES):
            stack.enter_context(room.taken("a", MAX_BATCH_BYTES))
        with pytest.raises(Problem) as refused, room.taken("a", 1):
            pass
        assert refused.value.code == "overloaded"
        with room.taken("b", 1):
            pass
    with room.taken("a", MAX_BATCH_BYTES):
        pass


def test_all_tenants_together_have_a_bound() -> None:
    """Batches of all tenants together have a bound, however many tenants there are."""
    room = BatchRoom()
    with ExitStack() as stack:
        for number in range(MAX_BYTES // MAX_BATCH_BYTES):
            stack.enter_context(room.taken(str(number), MAX_BATCH_BYTES))
        with pytest.raises(Problem), room.taken("one more", 1):
            pass


def test_room_comes_back_when_a_batch_fails() -> None:
    """The room of a batch is freed however the batch ends."""
    room = BatchRoom()
    for _ in range(10):
        with pytest.raises(ValueError, match="x"), room.taken("a", MAX_BATCH_BYTES):
            raise ValueError("x")
