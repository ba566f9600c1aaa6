"""The arguments and the result of a handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import msgspec

from tidegate.edge.addresses import caller_of
from tidegate.server.http.ids import new_id
from tidegate.stores.objects import audit, kept_answers
from tidegate.stores.objects.audit import AuditEntry

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate.operators.permissions import Role
    from tidegate.server.control.app import Application
    from tidegate.server.http.authorise import Caller
    from tidegate.server.http.preconditions import Precondition
    from tidegate.server.http.repeats import Repeatable
    from tidegate.stores.objects.kept_answers import KeptAnswer


T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Call:
    """An admitted request: who asks, for which tenant, with what.

    ``query`` and ``body`` are instances of the classes the route declares; ``raw_body`` is what
    came, for numbers that must be read as they were written.
    """

    app: Application
    request_id: str
    now: int
    """Nanoseconds since 1970."""
    ids: Mapping[str, UUID]
    """The ids in the path, by their names there."""
    path: str
    method: str = "GET"
    """As it came: ``HEAD`` too, at a route for GET."""
    names: Mapping[str, str] = attrs.field(factory=dict)
    """Parts of the path that are not ids, by name."""
    address: str = ""
    """The address of the client, as trusted proxies name it."""
    authorization: str | None = attrs.field(default=None, repr=False)
    """The header, where the handler looks at it."""
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Headers that the route names and the request has, by name in lower case."""
    wants_page: bool = False
    """Whether a browser asks, which shows pages."""
    key_tenant_id: UUID | None = None
    """The tenant whose API key came with the request, if the route reads one."""
    caller: Caller | None = None
    role: Role | None = None
    query: Any = None
    body: Any = None
    raw_body: bytes = b""
    precondition: Precondition | None = None
    given_back: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """Members of the body that only answers have, by the pointer of their object."""
    repeatable: Repeatable | None = None
    """The call under its idempotency key, if it has one and the route takes one."""

    def __reduce__(self) -> tuple[Any, ...]:
        """The parts of a call that a write needs, who asks and when: the service writes for its
        workers."""
        return _sent, (self.request_id, self.now, self.path, self.ids, self.caller, self.role)

    @property
    def client(self) -> str:
        """The caller that limits count: the address, or its IPv6 network of 64 bits."""
        return caller_of(self.address)

    @property
    def tenant_id(self) -> UUID:
        return self.ids["tenant_id"]

    @property
    def operator(self) -> Caller:
        """The caller of a route that requires a token."""
        if self.caller is None:
            raise RuntimeError("the route lets callers in without a token")
        return self.caller

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction of the writing thread; returns after the commit."""
        return self.app.store.write(work).result()

    def kept(self, answer: Answer) -> KeptAnswer | None:
        """The answer as it is kept for who repeats the call; None without an idempotency key."""
        if self.repeatable is None:
            return None
        content = msgspec.json.encode(answer.body)
        return self.repeatable.sealed(content, answer.revision, answer.location)

    def keep(self, connection: Connection, answer: Answer) -> None:
        """Keep the answer for who repeats the call, in the transaction of the change.

        Raises:
            ConflictError: the same call was answered meanwhile.
        """
        kept = self.kept(answer)
        if kept is not None:
            kept_answers.keep(connection, kept)

    def require_revision(self, revision: int) -> None:
        """Hold the caller to the ``If-Match`` it sent, if it sent one.

        Raises:
            Problem: ``stale-revision``.
        """
        if self.precondition is not None:
            self.precondition.require(revision)

    def audit(
        self,
        connection: Connection,
        action: str,
        kind: str,
        object_id: UUID | str,
        *,
        before: Any = None,
        after: Any = None,
        tenant_id: UUID | None = None,
    ) -> None:
        """Write down who changed what, in the transaction of the change."""
        entry = self.audit_entry(
            action, kind, object_id, before=before, after=after, tenant_id=tenant_id
        )
        audit.add(connection, entry)

    def audit_entry(
        self,
        action: str,
        kind: str,
        object_id: UUID | str,
        *,
        before: Any = None,
        after: Any = None,
        tenant_id: UUID | None = None,
    ) -> AuditEntry:
        """The audit entry of a change, to be written with it."""
        return AuditEntry(
            audit_id=new_id(),
            tenant_id=tenant_id or self.ids.get("tenant_id"),
            at_ns=self.now,
            actor=str(self.operator.operator_id),
            action=action,
            kind=kind,
            object_id=str(object_id),
            before=before,
            after=after,
            request_id=self.request_id,
        )


@attrs.frozen(kw_only=True)
class Answer:
    """The answer of a handler: ``body`` is an instance of the class the route declares, or a list
    of it.

    ``revision`` becomes the ETag; ``next`` is where the next page of a list begins;
    ``location`` names an object that was made; ``headers`` go with the others.
    """

    body: Any = None
    revision: int | None = None
    next: Sequence[str | int] | None = None
    location: str | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict)


def _sent(
    request_id: str,
    now: int,
    path: str,
    ids: Mapping[str, UUID],
    caller: Caller | None,
    role: Role | None,
) -> Call:
    app: Any = None
    return Call(
        app=app, request_id=request_id, now=now, path=path, ids=ids, caller=caller, role=role
    )
