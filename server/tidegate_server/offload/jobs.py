"""Work that would block the interpreter, as its callers see it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Protocol, TypeVar

from anyio import to_thread

from tidegate_server.offload.inbox import A

if TYPE_CHECKING:
    from tidegate_server.offload.inbox import Inbox

T = TypeVar("T")


class Workers(Protocol):
    """Runs jobs that would block the interpreter."""

    async def run(
        self,
        job: Callable[[A], T],
        inbox: Inbox[A],
        owner: Hashable,
        seconds: float,
        *,
        is_urgent: bool = False,
    ) -> T:
        """Run a job off the loop.

        Args:
            job: takes the parts of the service that a worker has; a module function or a partial of
                one, so that it can be sent.
            desk: the inbox for the worker's requests to the service.
            owner: the owner of the job; one owner never gets all workers.
            seconds: its time limit, from its start.
            is_urgent: the job goes first, and does not count against the owner.

        Raises:
            WorkerError: the worker ended, or exceeded its time or memory limit.
            Exception: what the job raised.
        """


class Inline:
    """Runs work in a thread of this process, for an application without a service."""

    async def run(
        self,
        job: Callable[[A], T],
        inbox: Inbox[A],
        owner: Hashable,  # noqa: ARG002
        seconds: float,  # noqa: ARG002
        *,
        is_urgent: bool = False,  # noqa: ARG002
    ) -> T:
        """See :class:`Workers`."""
        return await to_thread.run_sync(job, inbox.application)
