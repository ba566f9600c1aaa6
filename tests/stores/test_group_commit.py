"""Group commit: waiting work is taken together, in order, and each caller gets its result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from tests.store_contract.examples import WAIT_SECONDS, entry

from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.group_commit import Append, GroupCommit, Work, Write


class Recorder:
    """A store that notes what it is asked for."""

    def __init__(self) -> None:
        self.groups: list[list[Work]] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.busy = threading.Event()
        self.failure: Exception | None = None
        self.finished = False

    def commit(self, group: list[Work]) -> None:
        self.busy.set()
        assert self.go_on.wait(WAIT_SECONDS)
        if self.failure is not None:
            raise self.failure
        self.groups.append(group)
        for work in group:
            if isinstance(work, Write):
                work.outcome = lambda: "done"

    def finish(self) -> None:
        self.finished = True


@pytest.fixture
def recorder() -> Recorder:
    """The recorder behind the queue."""
    return Recorder()


@pytest.fixture
def queue(recorder: Recorder) -> Iterator[GroupCommit]:
    """A queue in front of it."""
    queue = GroupCommit(recorder.commit, recorder.finish)
    yield queue
    recorder.go_on.set()
    queue.close()
    assert recorder.finished


def held(queue: GroupCommit, recorder: Recorder) -> Callable[[], None]:
    """Keep the thread in a commit until the result is called."""
    recorder.go_on.clear()
    recorder.busy.clear()
    queue.write(lambda _connection: None)
    assert recorder.busy.wait(WAIT_SECONDS)
    return recorder.go_on.set


def test_what_waits_is_one_group_in_order(queue: GroupCommit, recorder: Recorder) -> None:
    """Appends and writes keep the order they were asked in."""
    release = held(queue, recorder)
    futures = [queue.append([entry(1)]), queue.write(lambda _: None), queue.append([entry(2)])]
    release()
    for future in futures:
        future.result(WAIT_SECONDS)
    assert [type(work) for work in recorder.groups[-1]] == [Append, Write, Append]


def test_a_failed_commit_fails_what_waits_and_what_comes(
    queue: GroupCommit, recorder: Recorder
) -> None:
    """After a failed commit nothing is taken until the store accepts again, and nothing failed is
    retried."""
    release = held(queue, recorder)
    waiting = [queue.append([entry(1)]), queue.write(lambda _: None)]
    recorder.failure = StoreUnavailableError("disk full")
    release()
    for future in waiting:
        with pytest.raises(StoreUnavailableError, match="disk full"):
            future.result(WAIT_SECONDS)
    with pytest.raises(StoreUnavailableError, match="disk full"):
        queue.append([entry(2)])
    assert (queue.waiting_entries, queue.waiting_writes, queue.waiting_bytes) == (0, 0, 0)
    recorder.failure = None
    queue.accept()
    queue.append([entry(3)]).result(WAIT_SECONDS)
    assert len(recorder.groups) == 1
    assert len(recorder.groups[0]) == 1


def test_a_write_may_be_called_off_and_an_append_may_not(
    queue: GroupCommit, recorder: Recorder
) -> None:
    """A queued write can be cancelled, an append cannot."""
    release = held(queue, recorder)
    append = queue.append([entry(1)])
    write = queue.write(lambda _: None)
    assert not append.cancel()
    assert write.cancel()
    release()
    append.result(WAIT_SECONDS)
    assert [type(work) for work in recorder.groups[-1]] == [Append]


def test_commands_wait_their_turn(queue: GroupCommit, recorder: Recorder) -> None:
    """A command finds everything committed that was asked for before it."""
    release = held(queue, recorder)
    queue.append([entry(1)])
    seen: list[int] = []
    command = queue.command(lambda: seen.append(len(recorder.groups)))
    queue.append([entry(2)])
    release()
    command.result(WAIT_SECONDS)
    assert seen == [2]


def test_what_was_accepted_is_finished_before_the_end(recorder: Recorder) -> None:
    """Closing finishes the queue first."""
    queue = GroupCommit(recorder.commit, recorder.finish)
    release = held(queue, recorder)
    futures = [queue.append([entry(number)]) for number in range(10)]
    closing = threading.Thread(target=queue.close)
    closing.start()
    release()
    closing.join(WAIT_SECONDS)
    assert all(future.done() and future.exception() is None for future in futures)
