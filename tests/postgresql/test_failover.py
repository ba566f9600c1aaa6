"""The primary of PostgreSQL dies under load: nothing that was acknowledged is lost."""

from __future__ import annotations

import orjson
import pytest
from tests.store_contract.examples import done, entry
from tools.database_pair import Pair, pair

from tidegate_server.stores.base import UnknownOutcomeError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.postgresql import PostgresqlStore

BEFORE = 300
"""Appends that are acknowledged before the primary is killed."""


def numbers(store: PostgresqlStore) -> list[int]:
    """The numbers that the answers in the log carry."""
    with store.read() as connection:
        return [orjson.loads(line.decision().answer)["number"] for line in log.scan(connection)]


def append_until_it_fails(store: PostgresqlStore, made: Pair, acknowledged: list[int]) -> None:
    """Append, kill the primary while some appends are under way, and note what is acknowledged."""
    number = 0
    while True:
        futures = {each: store.append([entry(each)]) for each in range(number + 1, number + 9)}
        number += 8
        # Appends that were under way then may still be acknowledged.
        if len(acknowledged) >= BEFORE and made.primary.process is not None:
            made.primary.kill()
        for each, future in futures.items():
            done(future)
            acknowledged.append(each)


@pytest.mark.usefixtures("postgresql")
def test_nothing_acknowledged_is_lost_when_the_standby_is_promoted() -> None:
    """The owner stops with the primary; the next one has all that was acknowledged, and goes on."""
    with pair() as made:
        url = made.url(made.new_database())
        migrate(url)
        store = PostgresqlStore(url)
        acknowledged: list[int] = []
        try:
            with pytest.raises(UnknownOutcomeError):
                append_until_it_fails(store, made, acknowledged)
        finally:
            store.close()
        made.promote()
        after = PostgresqlStore(url, standby="none")
        try:
            kept = numbers(after)
            assert kept[: len(acknowledged)] == acknowledged
            assert len(acknowledged) >= BEFORE
            done(after.append([entry(9_999)]))
            assert numbers(after) == [*kept, 9_999]
        finally:
            after.close()
