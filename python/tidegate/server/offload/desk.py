"""Requests of a worker process for work that only the service's process can do.

The service has a desk for each piece of work; the worker calls its methods by name over the pipe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate.policy.key_forms import KeyForms
    from tidegate.server.engines.replay import Draft
    from tidegate.stores.port import Records


class ReplayJobs(Protocol):
    """The replay jobs of the service."""

    def has_room(self) -> bool:
        """Whether another job may wait."""

    def submit(self, job_id: UUID, draft: Draft) -> None:
        """Run a job that is in the store, behind those that wait."""


class Engines(Protocol):
    """The active engines, as far as a worker may ask for them."""

    def key_forms(self, tenant_id: UUID) -> KeyForms | None:
        """The form of the tenant's entity keys; None when it is not active."""

    def state_of(self, tenant_id: UUID, event: bytes, at: int) -> bytes | None:
        """The state of the entities of an event, as a snapshot.

        Raises:
            EventError: the event is refused.
        """

    def evictions(self, tenant_id: UUID) -> int:
        """How many entities the engine of a tenant forgot since its state was new."""


class Served(Protocol):
    """The parts of a service that a desk reaches."""

    @property
    def store(self) -> Records: ...
    @property
    def runtime(self) -> Engines: ...
    @property
    def replays(self) -> ReplayJobs: ...


A = TypeVar("A", bound=Served)


@attrs.frozen
class Desk(Generic[A]):
    """The service, as far as a piece of work may reach into it.

    Attributes:
        application: of the service.
        changed: tenants whose definitions the work changed, to be taken over when it has ended.
    """

    application: A
    changed: list[UUID] = attrs.field(factory=list)

    def write(self, work: Callable[[Connection], Any], quietly: bool) -> Any:
        """The result of a write by the writing thread, after the commit."""
        return self.application.store.write(work, quietly=quietly).result()

    def index_now(self) -> None:
        """Have everything in the log indexed."""
        self.application.store.index_now()

    def learn_now(self) -> None:
        """Have the field catalog know everything in the log."""
        self.application.store.learn_now()

    def definitions_changed(self, tenant_id: UUID) -> None:
        """Note a change: who made it holds the worker that is needed to take it over."""
        self.changed.append(tenant_id)

    def key_forms(self, tenant_id: UUID) -> KeyForms | None:
        """The form of the tenant's entity keys; None when it is not active."""
        return self.application.runtime.key_forms(tenant_id)

    def state_of(self, tenant_id: UUID, event: bytes, at: int) -> bytes | None:
        """The engine's state of an event's entities; None without an engine."""
        return self.application.runtime.state_of(tenant_id, event, at)

    def evictions(self, tenant_id: UUID) -> int:
        """How many entities the engine forgot."""
        return self.application.runtime.evictions(tenant_id)

    def has_room(self) -> bool:
        """Whether another replay job may wait."""
        return self.application.replays.has_room()

    def submit(self, job_id: UUID, draft: Draft) -> None:
        """Have a replay job run."""
        self.application.replays.submit(job_id, draft)
