"""Work that would hold the interpreter, as its caller sees it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Protocol, TypeVar

from anyio import to_thread

from tidegate.server.offload.desk import A

if TYPE_CHECKING:
    from tidegate.server.offload.desk import Desk

T = TypeVar("T")


class Workers(Protocol):
    """Does work that would hold the interpreter."""

    async def run(
        self,
        job: Callable[[A], T],
        desk: Desk[A],
        owner: Hashable,
        seconds: float,
        *,
        is_urgent: bool = False,
    ) -> T:
        """Do a piece of work beside the loop.

        Args:
            job: what is done, with the parts of the service as a worker has them: a function of a
                module, or a partial one, so that it can be sent.
            desk: what the worker can ask the service for.
            owner: whose work it is; one owner never has all workers.
            seconds: how long it may take once it has begun.
            is_urgent: it goes before what waits, and does not count as the owner's.

        Raises:
            WorkerError: the worker ended, or was ended for the time or the memory it took.
            Exception: what the job raised.
        """


class Inline:
    """Work done in a thread of this process: for an application without a service."""

    async def run(
        self,
        job: Callable[[A], T],
        desk: Desk[A],
        owner: Hashable,  # noqa: ARG002
        seconds: float,  # noqa: ARG002
        *,
        is_urgent: bool = False,  # noqa: ARG002
    ) -> T:
        """See :class:`Workers`."""
        return await to_thread.run_sync(job, desk.application)
