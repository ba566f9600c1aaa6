"""The field catalog: names captured from traffic, how often they occur and how varied they are.

It is derived from a sample of the log whose size does not depend on the traffic. So it knows the
share of events that have a name, and not their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import msgspec
import orjson
import xxhash
from sqlalchemy import func, select, text

from tidegate.stores.index import sketch
from tidegate.stores.rows.tables import field_catalog as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.stores.decision_log.log import LogLine

MAX_NAMES = 1_000
"""Names kept for one tenant: names are chosen by callers, and anyone could invent more."""
MAX_NAME_CHARACTERS = 200
MAX_EXAMPLE_CHARACTERS = 200
MAX_VALUES = 1_000
"""Values looked at in one sample, some 2 ms: an event may hold over a thousand."""
_SECTIONS = ("headers", "query_params", "cookies", "route_params")
_WITHOUT_EXAMPLE = ("request.cookies.", "request.headers.cookie", "request.headers.set-cookie")
_BODY = "fields.body"
_HASH = "hmac:"
"""What a redacted value begins with."""
_EVENTS = ""
"""The name under which the sampled events themselves are counted."""

# SQLite's; PostgreSQL has json_to_recordset and decode.
_PUT = text("""
    INSERT INTO derived.field_catalog (tenant_id, name, type, example, present, sketch,
                                       last_seen_at_ns)
    SELECT :tenant, value ->> 0, value ->> 1, value ->> 2, value ->> 3, unhex(value ->> 4),
           value ->> 5
    FROM jsonb_each(:rows)
    WHERE true
    ON CONFLICT DO UPDATE SET
        type = iif(type = excluded.type, type, 'dyn'), example = excluded.example,
        present = present + excluded.present, sketch = excluded.sketch,
        last_seen_at_ns = max(last_seen_at_ns, excluded.last_seen_at_ns)
""")


@attrs.frozen(kw_only=True)
class CatalogField:
    """A captured name, such as ``fields.account_id`` or ``request.headers.x-app``."""

    name: str
    type: str
    """``string``, ``int``, ``double``, ``bool``, ``list`` or ``map``; ``dyn`` when the type
    varies."""
    example: str
    """The last value seen, redacted as the log is, its first 200 characters; empty where it could
    be a secret: for cookies, bodies, and values that were hashed."""
    fill_rate: float
    """Share of events, 0 to 1, in which the name is present and not empty."""
    distinct_estimate: int
    """Estimated number of its values, with a typical error of 7 %."""
    last_seen_at_ns: int


def fields(connection: Connection, tenant_id: UUID) -> list[CatalogField]:
    """The captured names of a tenant, in order."""
    rows = connection.execute(
        select(table).where(table.c.tenant_id == tenant_id).order_by(table.c.name)
    ).all()
    events = next((row.present for row in rows if row.name == _EVENTS), 0)
    return [
        CatalogField(
            name=row.name,
            type=row.type,
            example=row.example,
            fill_rate=min(1.0, row.present / max(1, events)),
            distinct_estimate=sketch.estimate(row.sketch),
            last_seen_at_ns=row.last_seen_at_ns,
        )
        for row in rows
        if row.name != _EVENTS
    ]


def learn(connection: Connection, sample: Iterable[LogLine]) -> None:
    """Add the names in the events of a sample of decisions."""
    tenants: dict[UUID, dict[str, _Seen]] = {}
    looked_at = 0
    for line in sample:
        if looked_at >= MAX_VALUES:
            break
        logged = _LOGGED.decode(line.line)
        seen = tenants.setdefault(line.tenant_id, {})
        seen.setdefault(_EVENTS, _Seen("", "")).add(b"", logged.received_at)
        for name, value in captured(orjson.loads(bytes(logged.event))):
            looked_at += 1
            content = value.encode() if isinstance(value, str) else orjson.dumps(value)
            known = seen.get(name)
            if known is None:
                known = seen[name] = _Seen(_type(value), "")
            known.example = example(name, content)
            known.add(content, logged.received_at)
    for tenant_id, names in tenants.items():
        _merge(connection, tenant_id, names)


def captured(event: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The captured names of an event with their values, without empty ones."""
    request = event.get("request")
    sections = [("fields", event.get("fields"))]
    if isinstance(request, dict):
        sections += [(f"request.{section}", request.get(section)) for section in _SECTIONS]
    for prefix, members in sections:
        if isinstance(members, dict):
            for name, value in members.items():
                if value not in (None, "") and len(name) <= MAX_NAME_CHARACTERS:
                    plain = name.lower() if prefix == "request.headers" else name
                    yield f"{prefix}.{plain}", value


def example(name: str, content: bytes) -> str:
    """The beginning of a value, or nothing where a value of this name could be a secret."""
    if name == _BODY or name.startswith(_WITHOUT_EXAMPLE) or _HASH.encode() in content:
        return ""
    return content[: 4 * MAX_EXAMPLE_CHARACTERS].decode(errors="ignore")[:MAX_EXAMPLE_CHARACTERS]


class _Logged(msgspec.Struct):
    received_at: int
    event: msgspec.Raw


_LOGGED = msgspec.json.Decoder(_Logged)


@attrs.define
class _Seen:
    """One name in a sample."""

    type: str
    example: str
    present: int = 0
    last_seen_at_ns: int = 0
    hashes: list[int] = attrs.field(factory=list)

    def add(self, content: bytes, received_at_ns: int) -> None:
        self.present += 1
        self.last_seen_at_ns = max(self.last_seen_at_ns, received_at_ns)
        self.hashes.append(xxhash.xxh3_64_intdigest(content))


def _merge(connection: Connection, tenant_id: UUID, seen: dict[str, _Seen]) -> None:
    known: dict[str, bytes] = {
        name: bytes(registers)
        for name, registers in connection.execute(
            select(table.c.name, table.c.sketch).where(
                table.c.tenant_id == tenant_id, table.c.name.in_(seen)
            )
        )
    }
    room = 0
    if len(known) < len(seen):
        count = select(func.count()).where(table.c.tenant_id == tenant_id)
        # The row that counts the events is no name.
        room = MAX_NAMES + 1 - connection.execute(count).scalar_one()
    rows = []
    for name, each in seen.items():
        registers = known.get(name)
        if registers is None:
            if room <= 0 and name != _EVENTS:
                continue
            room -= 1
            registers = sketch.EMPTY
        merged = sketch.add(registers, each.hashes)
        rows.append(
            [name, each.type, each.example, each.present, merged.hex(), each.last_seen_at_ns]
        )
    connection.execute(_PUT, {"tenant": tenant_id.bytes, "rows": orjson.dumps(rows).decode()})


def _type(value: object) -> str:
    names = {str: "string", bool: "bool", int: "int", float: "double", list: "list", dict: "map"}
    return names.get(type(value), "dyn")
