"""The field catalog: names captured from traffic, how often they occur and how much they vary.

It learns from every decision of the log, in separate steps: the extension reads the lines of a part
of the log, and each tenant's names become one statement. The position in the log is committed with
them, so a crash leaves nothing half learned.

A step keeps what it learned about all tenants together. It ends early if that takes too much
memory, and the next one continues from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
import orjson
from sqlalchemy import bindparam, select, text

from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log.log import unpack
from tidegate_server.stores.decision_log.rows import Unreadable, rows
from tidegate_server.stores.index import derived
from tidegate_server.stores.index.counting import LearnedNames
from tidegate_server.stores.rows.dialects import Forms
from tidegate_server.stores.rows.tables import decision_log
from tidegate_server.stores.rows.tables import field_catalog as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_NAME_CHARACTERS = 200
"""Longer names are not learned; the extension has the same limit."""
BATCH_ENTRIES = 16_384
"""Decisions that one step learns from, some 0.2 s."""
_EVENTS = ""
"""The name under which the events themselves are counted."""

_NAMES = (
    select(table.c.name)
    .where(table.c.tenant_id == bindparam("tenant"), table.c.name != _EVENTS)
    .order_by(table.c.name)
)

_SKETCHES = Forms(
    sqlite=text("""
        SELECT name, sketch FROM field_catalog
        WHERE tenant_id = :tenant AND name IN (SELECT value FROM json_each(:names))
    """),
    postgresql=text("""
        SELECT name, sketch FROM field_catalog
        WHERE tenant_id = :tenant
          AND name IN (SELECT json_array_elements_text(CAST(:names AS json)))
    """),
)

_INSERT = """
    INSERT INTO field_catalog AS known
        (tenant_id, name, type, example, present, sketch, last_seen_at_ns)
"""


def _merged(greatest: str) -> str:
    return f"""
        ON CONFLICT (tenant_id, name) DO UPDATE SET
            type = CASE WHEN known.type = excluded.type THEN known.type ELSE 'dyn' END,
            example = excluded.example, present = known.present + excluded.present,
            sketch = excluded.sketch,
            last_seen_at_ns = {greatest}(known.last_seen_at_ns, excluded.last_seen_at_ns)
    """


_PUT = Forms(
    sqlite=text(f"""{_INSERT}
        SELECT :tenant, value ->> 0, value ->> 1, value ->> 2, value ->> 3, unhex(value ->> 4),
               value ->> 5
        FROM jsonb_each(:rows)
        WHERE true
        {_merged("max")}
    """),
    postgresql=text(f"""{_INSERT}
        SELECT CAST(:tenant AS bytea), value ->> 0, value ->> 1, value ->> 2,
               CAST(value ->> 3 AS bigint), decode(value ->> 4, 'hex'),
               CAST(value ->> 5 AS bigint)
        FROM json_array_elements(CAST(:rows AS json)) AS each (value)
        {_merged("greatest")}
    """),
)

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def _without_nul(document: str) -> str:
    """Replace each NUL in JSON, since PostgreSQL texts can't contain it."""
    return _NUL.sub(r"\1\\ufffd", document) if "\\u0000" in document else document


_STORABLE: Forms[Callable[[str], str]] = Forms(sqlite=str, postgresql=_without_nul)


@attrs.frozen(kw_only=True)
class Bounds:
    """Limits of the catalog.

    Attributes:
        names: names kept for one tenant: callers choose them, and anyone could invent more.
        bytes: approximate size of a step's data for all tenants.
    """

    names: int = 1_000
    bytes: int = 64 * 1024 * 1024


DEFAULT_BOUNDS = Bounds()


@attrs.frozen(kw_only=True)
class CatalogField:
    """A captured name, such as ``fields.account_id`` or ``request.headers.x-app``."""

    name: str
    type: str
    """``string``, ``int``, ``double``, ``bool``, ``list`` or ``map``; ``dyn`` when the type
    varies."""
    example: str
    """The newest value, redacted like the log, its first 200 characters; empty if it could be a
    secret: for cookies, bodies, and hashed values."""
    events: int
    """Events that it learned from."""
    present: int
    """Those of them where the name is present and not empty."""
    distinct_estimate: int
    """Estimated number of distinct values, with a typical error of 1.6 %."""
    last_seen_at_ns: int


def fields(connection: Connection, tenant_id: UUID) -> list[CatalogField]:
    """The captured names of a tenant, in order."""
    found = connection.execute(
        select(table).where(table.c.tenant_id == tenant_id).order_by(table.c.name)
    ).all()
    events = next((row.present for row in found if row.name == _EVENTS), 0)
    return [
        CatalogField(
            name=row.name,
            type=row.type,
            example=row.example,
            events=events,
            present=row.present,
            distinct_estimate=min(row.present, LearnedNames.distinct(row.sketch) or 1),
            last_seen_at_ns=row.last_seen_at_ns,
        )
        for row in found
        if row.name != _EVENTS
    ]


def learn(connection: Connection, until: int, bounds: Bounds) -> int:
    """Learn from the next decisions of the log, skipping lost or damaged ones.

    Args:
        connection: the deriving connection, in a transaction.
        until: number of the last decision in the log.
        bounds: limits of the catalog.

    Returns:
        The number of the last decision learned from so far.
    """
    derived.take(connection)
    after = derived.learned_seq(connection)
    if after >= until:
        return after
    tenants: dict[UUID, LearnedNames] = {}
    held: dict[UUID, int] = {}
    learned, count = until, 0
    columns = (
        decision_log.c.first_seq,
        decision_log.c.tenant_id,
        decision_log.c.count.label("entries"),
        decision_log.c.body,
    )
    with closing(rows(connection, columns, after, until)) as found:
        for row in found:
            if isinstance(row, Unreadable):
                continue
            names = tenants.get(row.tenant_id)
            if names is None:
                names = tenants[row.tenant_id] = _known(connection, row.tenant_id, bounds)
            try:
                held[row.tenant_id] = names.learn(unpack(row.first_seq, row.body))
            except (DamagedLogError, ValueError):
                continue
            count += row.entries
            if count >= BATCH_ENTRIES or sum(held.values()) >= bounds.bytes:
                learned = row.first_seq + row.entries - 1
                break
    for tenant_id, names in tenants.items():
        _merge(connection, tenant_id, names)
    derived.set_learned_seq(connection, learned)
    return learned


def _known(connection: Connection, tenant_id: UUID, bounds: Bounds) -> LearnedNames:
    names = connection.execute(_NAMES, {"tenant": tenant_id}).scalars().all()
    return LearnedNames(names, bounds.names)


def _merge(connection: Connection, tenant_id: UUID, names: LearnedNames) -> None:
    storable = _STORABLE.of(connection)
    wanted = storable(orjson.dumps(names.names()).decode())
    sketches = _SKETCHES.of(connection)
    stored = connection.execute(sketches, {"tenant": tenant_id.bytes, "names": wanted})
    learned = names.rows([(name, sketch) for name, sketch in stored])
    values = {"tenant": tenant_id.bytes, "rows": storable(learned)}
    connection.execute(_PUT.of(connection), values)
