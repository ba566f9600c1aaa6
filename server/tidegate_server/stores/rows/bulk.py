"""Rows prepared for writing: encoded off the writing thread, and split into short steps.

The thread that commits decisions writes everything else too, so the rows it gets here only have to
be copied into the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import orjson

from tidegate_server.stores.rows.columns import Id, Json, JsonText
from tidegate_server.stores.rows.dialects import PLACE

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

STEP_ROWS = 200
"""Rows of a step, which takes a few milliseconds."""
STEP_BYTES = 256 * 1024
"""Bytes of a step, except for a single larger row."""

Step: TypeAlias = "Callable[[Connection], object]"


@attrs.frozen
class Rows:
    """Rows of one table, in the driver's format.

    Attributes:
        table: its name.
        names: the column names.
        size: bytes of texts and binary values.
    """

    table: str
    names: Sequence[str]
    values: Sequence[tuple[Any, ...]]
    size: int

    def insert(self, connection: Connection) -> None:
        """Write them.

        Raises:
            ConflictError: another row has the same unique value.
        """
        if self.values:
            places = ", ".join([PLACE.of(connection)] * len(self.names))
            columns = ", ".join(self.names)
            statement = f"INSERT INTO {self.table} ({columns}) VALUES ({places})"  # noqa: S608
            connection.exec_driver_sql(statement, list(self.values))

    def steps(self) -> Iterator[Step]:
        """Functions that write them in short steps."""
        part: list[tuple[Any, ...]] = []
        size = 0
        for row in self.values:
            if part and (len(part) >= STEP_ROWS or size + _size(row) > STEP_BYTES):
                yield partial(Rows.insert, attrs.evolve(self, values=part, size=size))
                part, size = [], 0
            part.append(row)
            size += _size(row)
        if part:
            yield partial(Rows.insert, attrs.evolve(self, values=part, size=size))


def ready(table: Table, rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Encode the rows of a table; all have the same columns."""
    rows = list(rows)
    names = list(rows[0]) if rows else []
    encoders = [_encoder(table.c[name].type) for name in names]
    values = [
        tuple(encode(row[name]) for name, encode in zip(names, encoders, strict=True))
        for row in rows
    ]
    return Rows(table.name, names, values, sum(map(_size, values)))


def json_text(value: Any) -> JsonText:
    """A value as JSON, encoded once for all rows that contain it."""
    return JsonText(orjson.dumps(value).decode())


def _size(row: tuple[Any, ...]) -> int:
    return sum(len(each) for each in row if isinstance(each, str | bytes))


def _encoder(kind: Any) -> Callable[[Any], Any]:
    if isinstance(kind, Id):
        return lambda value: None if value is None else value.bytes
    if isinstance(kind, Json):
        return lambda value: kind.process_bind_param(value, None)
    return lambda value: value
