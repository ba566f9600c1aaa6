"""The tests that define how a store keeps answers by idempotency key."""

from __future__ import annotations

from functools import partial

import attrs
import pytest
from sqlalchemy import Connection
from tests.store_contract.examples import (
    OTHER_TENANT,
    START_NS,
    TENANT,
    StorePlaces,
    done,
)

from tidegate_server.stores.base import ConflictError
from tidegate_server.stores.objects import kept_answers, revoked_tokens
from tidegate_server.stores.objects.kept_answers import KeptAnswer
from tidegate_server.stores.port import Store

LATER_NS = START_NS + 1_000


def kept_answer(number: int, size: int = 1) -> KeptAnswer:
    """An answer, which counts as if it had a size; greater numbers come later."""
    return KeptAnswer(
        name=bytes([number] * 32),
        operator_id=OTHER_TENANT,
        tenant_id=TENANT,
        at_ns=START_NS + number,
        size=size,
        fingerprint=bytes(32),
        sealed=b"sealed",
    )


class AnswerContract(StorePlaces):
    """An answer is kept with its change, for a day, within bounds."""

    def test_a_change_is_there_with_its_answer_or_not_at_all(self, store: Store) -> None:
        """A second answer of a name undoes the change that it came with."""

        def change(token: str, answer: KeptAnswer) -> None:
            def work(connection: Connection) -> None:
                revoked_tokens.revoke(connection, token, LATER_NS, START_NS)
                kept_answers.keep(connection, answer)

            done(store.write(work))

        change("first", kept_answer(1))
        with pytest.raises(ConflictError, match="faster"):
            change("second", kept_answer(1))
        with store.read() as connection:
            assert revoked_tokens.live(connection, START_NS) == {"first"}
            assert kept_answers.find(connection, kept_answer(1).name, START_NS) == kept_answer(1)

    def test_an_answer_is_kept_for_a_day(self, store: Store) -> None:
        """A name whose answer is too old has none, and can have another."""
        later = START_NS + kept_answers.KEPT_NS
        done(store.write(lambda c: kept_answers.keep(c, kept_answer(1))))
        with store.read() as connection:
            assert kept_answers.find(connection, kept_answer(1).name, later + 1) is None
        again = attrs.evolve(kept_answer(1), at_ns=later + 1)
        done(store.write(lambda c: kept_answers.keep(c, again)))
        done(store.write(lambda c: kept_answers.keep(c, kept_answer(0))))
        assert done(store.write(lambda c: kept_answers.prune(c, later))) == 1
        with store.read() as connection:
            assert kept_answers.find(connection, again.name, later) == again

    def test_the_oldest_answers_go(self, store: Store) -> None:
        """Bytes of an operator and of a tenant are bounded; the newest answer is always kept."""
        half = kept_answers.OPERATOR_BYTES // 2
        sizes = [half, half, half, 3 * half]
        answers = [kept_answer(number, size) for number, size in enumerate(sizes)]
        other = attrs.evolve(kept_answer(9), operator_id=TENANT)
        left = []
        for answer in (other, *answers):
            done(store.write(partial(kept_answers.keep, answer=answer)))
            with store.read() as connection:
                found = [kept_answers.find(connection, each.name, START_NS) for each in answers]
                left.append([number for number, each in enumerate(found) if each is not None])
                assert kept_answers.find(connection, other.name, START_NS) is not None
        assert left == [[], [0], [0, 1], [1, 2], [3]]
