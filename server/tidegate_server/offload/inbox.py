"""The service's inbox for requests from a worker process, which only the service can serve.

The service has one for each job; the worker calls its methods by name over the pipe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate.policy.key_forms import KeyForms
    from tidegate_server.engines.replay import Draft
    from tidegate_server.stores.port import Records


class ReplayJobs(Protocol):
    """The replay jobs of the service."""

    def has_room(self) -> bool:
        """Whether another job may wait."""

    def submit(self, job_id: UUID, draft: Draft) -> None:
        """Queue a job that is in the store."""


class Engines(Protocol):
    """The active engines, as far as a worker may use them."""

    def key_forms(self, tenant_id: UUID) -> KeyForms | None:
        """Return the form of the tenant's entity keys; None if it isn't active."""

    def state_of(self, tenant_id: UUID, event: bytes, at: int) -> bytes | None:
        """Return the state of an event's entities, as a snapshot.

        Raises:
            EventError: the event is refused.
        """

    def located(self, tenant_id: UUID, event: bytes) -> bytes:
        """Return an event that states where its client is, as far as address databases know.

        Raises:
            EventError: the event is refused.
        """

    def located_fields(self) -> frozenset[str]:
        """Return the fields that address databases give."""

    def evictions(self, tenant_id: UUID) -> int:
        """Return how many entities a tenant's engine has forgotten since its state was new."""


class Served(Protocol):
    """The parts of a service that an inbox uses."""

    @property
    def store(self) -> Records: ...
    @property
    def runtime(self) -> Engines: ...
    @property
    def replays(self) -> ReplayJobs: ...


A = TypeVar("A", bound=Served)


@attrs.frozen
class Inbox(Generic[A]):
    """The service, as far as a job may use it.

    Attributes:
        application: the service's application.
        changed: tenants with definitions changed by the job, to take over after it.
    """

    application: A
    changed: list[UUID] = attrs.field(factory=list)

    def write(self, work: Callable[[Connection], Any], quietly: bool) -> Any:
        """Have the writing thread make a write; return its result after the commit."""
        return self.application.store.write(work, quietly=quietly).result()

    def index_now(self) -> None:
        """Have everything in the log indexed."""
        self.application.store.index_now()

    def learn_now(self) -> None:
        """Have the field catalog know everything in the log."""
        self.application.store.learn_now()

    def definitions_changed(self, tenant_id: UUID) -> None:
        """Note a change, to take over after the job: it holds the worker that this needs."""
        self.changed.append(tenant_id)

    def key_forms(self, tenant_id: UUID) -> KeyForms | None:
        """Return the form of the tenant's entity keys; None if it isn't active."""
        return self.application.runtime.key_forms(tenant_id)

    def state_of(self, tenant_id: UUID, event: bytes, at: int) -> bytes | None:
        """Return the engine's state of an event's entities; None without an engine."""
        return self.application.runtime.state_of(tenant_id, event, at)

    def located(self, tenant_id: UUID, event: bytes) -> bytes:
        """Return an event that states where its client is."""
        return self.application.runtime.located(tenant_id, event)

    def located_fields(self) -> frozenset[str]:
        """Return the fields that address databases give."""
        return self.application.runtime.located_fields()

    def evictions(self, tenant_id: UUID) -> int:
        """Return how many entities the engine has forgotten."""
        return self.application.runtime.evictions(tenant_id)

    def has_room(self) -> bool:
        """Whether another replay job may wait."""
        return self.application.replays.has_room()

    def submit(self, job_id: UUID, draft: Draft) -> None:
        """Queue a replay job."""
        self.application.replays.submit(job_id, draft)
