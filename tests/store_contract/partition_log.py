"""The contract of the log of a partition: claims, appends, and one against the other.

Inherit, and give ``url`` of an empty place and ``connect``, which opens a connection that writes,
and ``make_log``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from tests.store_contract.examples import WAIT_SECONDS, entry

from tidegate_server.stores.base import FencedError, TakenNumberError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.decision_log.partition_log import PartitionLog, drop, log_row
from tidegate_server.stores.rows.dialects import driver_connection

if TYPE_CHECKING:
    from sqlalchemy import Connection

Connect: TypeAlias = Callable[[str], "Connection"]
STILL_SECONDS = 0.3
"""After it, whatever has not ended waits."""


def row(first_seq: int, count: int = 1) -> tuple[Any, ...]:
    """A row with this many decisions."""
    return log_row(first_seq, [entry(first_seq + each) for each in range(count)], 0)


class Owner:
    """A process, as far as the log knows it: a connection and a claim."""

    def __init__(self, connection: Connection, made: PartitionLog, name: str) -> None:
        self.connection = connection
        self.log = made
        self.name = name

    def claim(self) -> int:
        """Begin the next epoch."""
        return self.log.claim(self.connection, self.name)

    def append(self, after: int, count: int = 1) -> None:
        """Append decisions in a statement of its own."""
        self.log.append(self.connection, after, [row(after + 1, count)])

    def numbers(self) -> list[int]:
        """The numbers of all decisions in the log."""
        found = [line.seq for line in log.scan(self.connection)]
        self.connection.rollback()
        return found

    @contextmanager
    def claiming(self) -> Iterator[None]:
        """Keep a claim open for the block, which has not ended."""
        driver = driver_connection(self.connection)
        driver.execute("BEGIN")
        driver.execute("UPDATE partitions SET epoch = epoch + 1")
        yield
        driver.execute("COMMIT")

    def drop(self, first_seqs: Sequence[int], last_seq_of_them: int) -> None:
        """Delete rows of the log."""
        with self.connection.begin():
            drop(self.connection, first_seqs, last_seq_of_them)


class PartitionLogContract:
    """The contract of a partition's log, the same on each database."""

    @pytest.fixture
    def owners(
        self, url: str, connect: Connect, make_log: Callable[[], PartitionLog]
    ) -> Iterator[tuple[Owner, Owner]]:
        """Two processes, of which none has claimed."""
        migrate(url)
        with ExitStack() as stack:
            made = [stack.enter_context(connect(url)) for _ in range(2)]
            yield Owner(made[0], make_log(), "a"), Owner(made[1], make_log(), "b")

    def test_a_claim_begins_the_next_epoch(self, owners: tuple[Owner, Owner]) -> None:
        """Each claim has an epoch of its own, greater than all before."""
        first, second = owners
        assert first.claim() == second.claim() == 0
        assert first.log.epoch is not None
        assert second.log.epoch == first.log.epoch + 1

    def test_what_is_appended_is_read_in_order(self, owners: tuple[Owner, Owner]) -> None:
        """Decisions have the numbers that they were appended by, without a gap."""
        first, second = owners
        first.claim()
        first.append(0, count=3)
        first.append(3)
        assert first.numbers() == second.numbers() == [1, 2, 3, 4]
        assert second.claim() == 4

    def test_a_late_append_of_an_earlier_epoch_takes_nothing(
        self, owners: tuple[Owner, Owner]
    ) -> None:
        """Once another has claimed, nothing of the owner before is taken."""
        first, second = owners
        first.claim()
        first.append(0)
        assert second.claim() == 1
        with pytest.raises(FencedError):
            first.append(1)
        second.append(1)
        assert second.numbers() == [1, 2]

    def test_an_owner_that_was_replaced_changes_nothing_else(
        self, owners: tuple[Owner, Owner]
    ) -> None:
        """The check that stands in a transaction of other changes refuses too."""
        first, second = owners
        first.claim()
        with first.connection.begin():
            first.log.check(first.connection)
        second.claim()
        with pytest.raises(FencedError), first.connection.begin():
            first.log.check(first.connection)

    @pytest.mark.parametrize("after", [0, 1, 2])
    def test_no_number_is_given_twice(self, owners: tuple[Owner, Owner], after: int) -> None:
        """An append within what the log has takes nothing, though the epoch is right."""
        first, _ = owners
        first.claim()
        first.append(0, count=3)
        with pytest.raises(TakenNumberError):
            first.append(after)
        first.append(3)
        assert first.numbers() == [1, 2, 3, 4]

    def test_an_append_may_leave_out_what_was_lost(self, owners: tuple[Owner, Owner]) -> None:
        """Numbers that something else knows are not given again: the log goes on behind them."""
        first, _ = owners
        first.claim()
        first.append(7)
        assert first.numbers() == [8]

    def test_a_claim_waits_for_an_append_in_flight(self, owners: tuple[Owner, Owner]) -> None:
        """The claim knows the end of what was under way, which is in the log."""
        first, second = owners
        first.claim()
        with ThreadPoolExecutor(1) as thread:
            with first.connection.begin():
                first.append(0, count=2)
                claimed: Future[int] = thread.submit(second.claim)
                with pytest.raises(TimeoutError):
                    claimed.result(STILL_SECONDS)
            assert claimed.result(WAIT_SECONDS) == 2
        with pytest.raises(FencedError):
            first.append(2)

    def test_an_append_that_waited_behind_a_claim_takes_nothing(
        self, owners: tuple[Owner, Owner]
    ) -> None:
        """It began before the claim was done, and ends after it."""
        first, second = owners
        first.claim()
        with ThreadPoolExecutor(1) as thread:
            with second.claiming():
                appended = thread.submit(first.append, 0)
                with pytest.raises(TimeoutError):
                    appended.result(STILL_SECONDS)
            with pytest.raises(FencedError):
                appended.result(WAIT_SECONDS)
        assert second.numbers() == []

    def test_what_is_dropped_is_gone_and_numbers_go_on(self, owners: tuple[Owner, Owner]) -> None:
        """Dropping the oldest rows gives no number again."""
        first, second = owners
        first.claim()
        first.append(0, count=2)
        first.append(2)
        first.drop([1], 2)
        assert first.numbers() == [3]
        first.drop([3], 3)
        assert second.claim() == 3
        second.append(3)
        assert second.numbers() == [4]
