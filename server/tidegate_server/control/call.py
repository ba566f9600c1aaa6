"""The arguments and the result of a handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import msgspec

from tidegate.edge.addresses import caller_of
from tidegate_server.http.ids import new_id
from tidegate_server.stores.objects import audit, kept_answers
from tidegate_server.stores.objects.audit import AuditEntry

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.control.app import Application
    from tidegate_server.http.authorise import Caller
    from tidegate_server.http.preconditions import Precondition
    from tidegate_server.http.repeats import Repeatable
    from tidegate_server.operators.permissions import Role
    from tidegate_server.stores.objects.kept_answers import KeptAnswer


T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Call:
    """An admitted request, with its caller, tenant and content.

    ``query`` and ``body`` are instances of the classes that the route declares; ``raw_body`` has
    the bytes received, for numbers that must be read as they were written.
    """

    app: Application
    request_id: str
    now: int
    """Nanoseconds since 1970."""
    ids: Mapping[str, UUID]
    """The ids in the path, by parameter name."""
    path: str
    method: str = "GET"
    """The method as received, including ``HEAD`` at a route for GET."""
    names: Mapping[str, str] = attrs.field(factory=dict)
    """Parts of the path that are not ids, by name."""
    address: str = ""
    """The client's address, as trusted proxies report it."""
    authorization: str | None = attrs.field(default=None, repr=False)
    """The header, if the handler reads it."""
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """The headers of the request that the route names, by name in lower case."""
    wants_page: bool = False
    """Whether the caller is a browser, which gets pages."""
    key_tenant_id: UUID | None = None
    """The tenant whose API key came with the request, if the route reads one."""
    caller: Caller | None = None
    by: str = ""
    """The actor in the audit, for a change without a caller."""
    role: Role | None = None
    query: Any = None
    body: Any = None
    raw_body: bytes = b""
    precondition: Precondition | None = None
    given_back: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """Read-only members that came in the body, by the pointer of their object."""
    repeatable: Repeatable | None = None
    """The call under its idempotency key, if it has one and the route accepts them."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the parts that a write needs, as the service writes for its workers."""
        parts = (self.request_id, self.now, self.path, self.ids, self.caller, self.by, self.role)
        return _sent, parts

    @property
    def client(self) -> str:
        """The caller that limits count: the address, or its IPv6 network of 64 bits."""
        return caller_of(self.address)

    @property
    def tenant_id(self) -> UUID:
        return self.ids["tenant_id"]

    @property
    def operator(self) -> Caller:
        """The caller, on a route that requires a token."""
        if self.caller is None:
            raise RuntimeError("the route lets callers in without a token")
        return self.caller

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction of the writing thread; returns after the commit."""
        return self.app.store.write(work).result()

    def kept(self, answer: Answer) -> KeptAnswer | None:
        """Return the answer to keep for repetitions of the call; None without a key."""
        if self.repeatable is None:
            return None
        content = msgspec.json.encode(answer.body)
        return self.repeatable.sealed(content, answer.revision, answer.location)

    def keep(self, connection: Connection, answer: Answer) -> None:
        """Keep the answer for repetitions of the call, in the transaction of the change.

        Raises:
            ConflictError: the same call was answered meanwhile.
        """
        kept = self.kept(answer)
        if kept is not None:
            kept_answers.keep(connection, kept)

    def require_revision(self, revision: int) -> None:
        """Enforce the ``If-Match`` header of the caller, if any.

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
        """Write an audit entry for a change, in the transaction of the change."""
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
        """Return the audit entry of a change, to be written with it."""
        return AuditEntry(
            audit_id=new_id(),
            tenant_id=tenant_id or self.ids.get("tenant_id"),
            at_ns=self.now,
            actor=self.by or str(self.operator.operator_id),
            action=action,
            kind=kind,
            object_id=str(object_id),
            before=before,
            after=after,
            request_id=self.request_id,
        )


@attrs.frozen(kw_only=True)
class Answer:
    """A handler's answer; ``body`` is an instance of the route's class, or a list of them.

    ``revision`` becomes the ETag; ``next`` says where the next page of a list starts; ``location``
    names an object that was created; ``headers`` are sent in addition.
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
    by: str,
    role: Role | None,
) -> Call:
    app: Any = None
    return Call(
        app=app,
        request_id=request_id,
        now=now,
        path=path,
        ids=ids,
        caller=caller,
        by=by,
        role=role,
    )
