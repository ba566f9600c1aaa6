"""The log in memory does what the logs in databases do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest
from tests.simulation.world.partition_log import MemoryLog, Table, Writer
from tests.store_contract.partition_log import Owner, PartitionLogContract

from tidegate_server.stores.base import FencedError, TakenNumberError


class MemoryOwner(Owner):
    """A process over a table in memory."""

    def __init__(self, table: Table, name: str) -> None:
        super().__init__(cast("Any", Writer(table)), cast("Any", MemoryLog()), name)
        self.table = table

    def numbers(self) -> list[int]:
        """The numbers of all decisions in the log."""
        rows = [row for _, row in self.table.rows]
        return [number for row in rows for number in range(row[0], row[0] + row[2])]

    @contextmanager
    def claiming(self) -> Iterator[None]:
        """Keep a claim open for the block."""
        with self.connection.begin():
            self.claim()
            yield

    def drop(self, first_seqs: Sequence[int], last_seq_of_them: int) -> None:
        """Delete rows of the log."""
        del last_seq_of_them
        self.table.rows = [each for each in self.table.rows if each[1][0] not in first_seqs]


def append_twice(owner: Owner) -> None:
    """Append, and append again within what the log has then."""
    with owner.connection.begin():
        owner.append(0, count=2)
        owner.append(1)


class TestMemoryLog(PartitionLogContract):
    """The contract of every log."""

    @pytest.fixture
    def owners(self) -> tuple[Owner, Owner]:
        """Two processes, of which none has claimed."""
        table = Table()
        return MemoryOwner(table, "a"), MemoryOwner(table, "b")

    def test_a_claim_under_an_earlier_term_is_refused(self, owners: tuple[Owner, Owner]) -> None:
        """The epoch is as before."""
        first, second = owners
        assert first.log.claim(first.connection, "a", 2) == 0
        with pytest.raises(FencedError):
            second.log.claim(second.connection, "b", 1)
        first.append(0)

    def test_a_transaction_that_fails_appends_nothing(self, owners: tuple[Owner, Owner]) -> None:
        """Its rows and its epoch are gone together."""
        first, _ = owners
        first.claim()
        with pytest.raises(TakenNumberError):
            append_twice(first)
        assert first.numbers() == []
        first.append(0)
