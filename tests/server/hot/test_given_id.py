"""Ids that gateways give."""

from __future__ import annotations

from uuid import UUID

from uuid_utils import uuid7

from tidegate_server.hot.given_id import GivenId


def test_events_of_a_batch_have_ids_of_their_own_that_stay() -> None:
    """Each is a UUID of version 7 of the batch's time, the same when the batch is asked again."""
    name = uuid7().bytes
    first = [GivenId(name, is_repeated=False).of_event(number) for number in range(1_000)]
    again = [GivenId(name, is_repeated=True).of_event(number) for number in range(1_000)]
    assert first == again
    assert len(set(first)) == 1_000
    assert {UUID(bytes=each).version for each in first} == {7}
    assert {each[:6] for each in first} == {name[:6]}
