"""Writes a fetched list: its new entries, or a refusal that is kept and audited. In a worker."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson

from tidegate.policy.definitions.model import ListSource, NamedList
from tidegate.policy.published import RefreshRefusedError, read_published
from tidegate_server.control.call import Call
from tidegate_server.definitions.lists import MAX_ENTRIES, put_entries
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import Problem
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import audit, definitions, list_refreshes
from tidegate_server.stores.objects.audit import AuditEntry
from tidegate_server.stores.objects.list_refreshes import ListRefresh
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire.kinds import LIST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from tidegate_server.control.app import Application

SYSTEM = "system"
"""The actor that refreshes lists, in the audit trail."""
CHANGED, UNCHANGED, SUPERSEDED = "changed", "unchanged", "superseded"
"""Outcomes of a refresh; the others are codes of refusals."""
_MAX_DETAIL = 500


def source_of(body: Mapping[str, Any]) -> ListSource | None:
    """Return the source in a list's stored body."""
    found = body.get("source")
    return None if found is None else ListSource(**found)


def key_of(source: ListSource) -> str:
    """Return a text that says where entries come from; two lists with the same text are alike."""
    return orjson.dumps([source.url, source.format, source.pointer]).decode()


@attrs.frozen(kw_only=True)
class Fetched:
    """The response of a list's source.

    Attributes:
        source: see :func:`key_of`.
        content: the published bytes.
        refusal: code and detail, where no bytes can be used.
        requested_by: the operator who asked for the refresh; None if nobody did.
        at_ns: when it was fetched.
    """

    tenant_id: UUID
    list_id: UUID
    source: str
    content: bytes = attrs.field(default=b"", repr=False)
    refusal: tuple[str, str] | None = None
    requested_by: str | None = None
    at_ns: int


def take(fetched: Fetched, application: Application) -> str:
    """Write the entries that were fetched, or note why they are refused; return the outcome."""
    call = Call(
        app=application,
        request_id=str(new_id()),
        now=fetched.at_ns,
        path="",
        ids={"tenant_id": fetched.tenant_id, LIST.id_member: fetched.list_id},
        by=SYSTEM,
    )
    refusal = fetched.refusal
    outcome = UNCHANGED
    try:
        named = _present(call)
        if named.source is None or key_of(named.source) != fetched.source:
            return SUPERSEDED
        if refusal is None and _write(call, named, fetched):
            outcome = CHANGED
    except NotFoundError:
        return SUPERSEDED
    except RefreshRefusedError as error:
        refusal = (error.code, error.detail)
    except Problem as problem:
        refusal = (problem.code, problem.detail)
    call.write(partial(_note, call=call, fetched=fetched, refusal=refusal))
    return outcome if refusal is None else refusal[0]


def _present(call: Call) -> NamedList:
    with call.app.store.read() as connection:
        found = definitions.find(connection, call.tenant_id, LIST.name, call.ids[LIST.id_member])
    members = {**found.body, "entries": tuple(found.body.get("entries", ()))}
    return NamedList(**{**members, "source": source_of(found.body)})


def _write(call: Call, named: NamedList, fetched: Fetched) -> bool:
    """Write the published entries; return whether they differ from the present ones.

    Raises:
        RefreshRefusedError: the list can't be used.
        Problem: the definitions can't be written.
    """
    entries = read_published(fetched.content, named, MAX_ENTRIES)
    if entries == named.entries:
        return False
    present, published = set(named.entries), set(entries)
    change = wire_definitions.EntriesChange(
        add=tuple(each for each in entries if each not in present),
        remove=tuple(each for each in named.entries if each not in published),
    )
    assert named.source is not None
    noted = {"url": named.source.url, "requested_by": fetched.requested_by}
    put_entries(call, "refresh", change, noted)
    return True


def _note(
    connection: Connection, call: Call, fetched: Fetched, refusal: tuple[str, str] | None
) -> None:
    """Store the outcome, and audit a refusal unless the one before had the same reason."""
    before = list_refreshes.find(
        connection, fetched.tenant_id, fetched.list_id, fetched.source
    ) or ListRefresh(tenant_id=fetched.tenant_id, list_id=fetched.list_id, source=fetched.source)
    if refusal is None:
        list_refreshes.put(connection, attrs.evolve(before, refreshed_at_ns=fetched.at_ns))
        return
    code, detail = refusal[0], _shown(refusal[1])
    after = attrs.evolve(before, refused_at_ns=fetched.at_ns, code=code, detail=detail)
    list_refreshes.put(connection, after)
    if before.is_refused and before.code == code and fetched.requested_by is None:
        return
    noted = {"code": code, "detail": detail, "requested_by": fetched.requested_by}
    entry: AuditEntry = call.audit_entry("refuse-refresh", LIST.name, fetched.list_id, after=noted)
    audit.add(connection, entry)


def _shown(text: str) -> str:
    """A text as it may be stored and shown, since a part of it may come from elsewhere."""
    return "".join(each if each.isprintable() else "\ufffd" for each in text)[:_MAX_DETAIL]
