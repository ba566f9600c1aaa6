"""Column types: ids as 16 bytes, texts ordered by their bytes, JSON by orjson."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import LargeBinary
from sqlalchemy import Text as AnyText
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

Text = AnyText().with_variant(AnyText(collation="C"), "postgresql")
"""A text that compares by its bytes in either database, whatever the machine's locale."""


class Id(TypeDecorator[UUID]):
    """A UUID stored as its 16 bytes, so that version 7 sorts by time."""

    impl = LargeBinary(16)
    cache_ok = True

    def process_bind_param(self, value: UUID | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        """The bytes of an id."""
        return None if value is None else value.bytes

    def process_result_value(self, value: Any, dialect: Dialect) -> UUID | None:  # noqa: ARG002
        """The id of its bytes."""
        return None if value is None else UUID(bytes=bytes(value))


class JsonText(str):
    """JSON that is encoded already and written as it is."""

    __slots__ = ()


class Json(TypeDecorator[Any]):
    """Plain data stored as JSON text; ``None`` is SQL's null."""

    impl = AnyText
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect | None) -> str | None:  # noqa: ARG002
        """The text of a value."""
        if value is None or isinstance(value, JsonText):
            return value
        return orjson.dumps(value).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        """The value of a text."""
        return None if value is None else orjson.loads(value)
