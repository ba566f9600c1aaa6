"""The columns of a frame as texts and JSON, made by pyarrow."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type

from tidegate.errors import EventError
from tidegate.event_form import NAIVE_MOMENT

if TYPE_CHECKING:
    from tidegate.frames.form import Kind, Member
    from tidegate.frames.rows import Column

ISO_8601 = "%Y-%m-%dT%H:%M:%SZ"
"""In UTC; the seconds have the fraction of the column's unit."""
_ALLOWED: dict[Kind, str] = {
    "text": "text",
    "moment": "text, or a timestamp with a time zone",
    "object": "a struct, a map, or text that is a JSON object",
    "value": "text, a number, a bool, a list or a struct; cast it to text",
    "variable": "text, a number, a bool, a timestamp, a list, a struct or a map",
}
_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def check_type(member: Member, given: Any) -> None:
    """Refuse a type that isn't one of the values of a member.

    Args:
        member: of the column.
        given: its Arrow type.

    Raises:
        EventError: the type isn't one of them.
    """
    place = f"column `{member.column}`"
    given = _stored(given)
    if _is_text(given) or is_type.is_null(given):
        return
    if is_type.is_timestamp(given) and member.kind in ("moment", "variable"):
        if given.tz is None:
            raise EventError(f"{place} {NAIVE_MOMENT}")
        return
    is_scalar = is_type.is_integer(given) or is_type.is_floating(given) or is_type.is_boolean(given)
    is_object = is_type.is_struct(given) or is_type.is_map(given)
    allowed: dict[Kind, bool] = {
        "text": False,
        "moment": False,
        "object": is_object,
        "value": is_scalar or is_object or _is_list(given),
        "variable": is_scalar or is_object or _is_list(given),
    }
    if not allowed[member.kind]:
        raise EventError(f"{place} has the type `{given}`; it must be {_ALLOWED[member.kind]}")


def to_column(member: Member, array: Any, before: str) -> tuple[Column, dict[int, EventError]]:
    """A column for :func:`tidegate.frames.rows.write_rows`.

    Args:
        member: of the column.
        array: its values, of a type that :func:`check_type` accepts.
        before: the text before each value.

    Returns:
        The column, and the rows without a value that JSON has.

    Raises:
        EventError: the values are damaged, such as text that isn't UTF-8.
    """
    refused: dict[int, EventError] = {}
    is_json = member.kind == "object"
    try:
        array.validate(full=True)
        array = _plain(array)
        if is_type.is_timestamp(array.type):
            array = pc.strftime(array.cast(pa.timestamp(array.type.unit, "UTC")), ISO_8601)
        elif is_type.is_integer(array.type) or is_type.is_boolean(array.type):
            is_json = True
        elif not _is_text(array.type) and not is_type.is_null(array.type):
            is_json = True
            array = _written(member, array, refused)
        return (before, is_json, *_buffers(array.cast(pa.large_string()))), refused
    except pa.ArrowException as error:
        raise EventError(f"column `{member.column}` is damaged: {error}") from None


def _buffers(texts: Any) -> tuple[bytes, bytes, bytes | None]:
    """Values, offsets, and nulls of an array of large strings."""
    _, ends, data = texts.buffers()
    places = memoryview(ends)[8 * texts.offset : 8 * (texts.offset + len(texts) + 1)]
    first, last = (int.from_bytes(places[at : at + 8 or None], sys.byteorder) for at in (0, -8))
    nulls = None
    if texts.null_count:
        bytes_of_nulls = pc.is_null(texts).cast(pa.uint8()).buffers()[1]
        nulls = bytes_of_nulls.to_pybytes()[: len(texts)]
    values = b"" if data is None else memoryview(data)[first:last].tobytes()
    return values, places.tobytes(), nulls


def _written(member: Member, array: Any, refused: dict[int, EventError]) -> Any:
    """Any values as JSON; those that have no JSON are null, and refused."""
    texts: list[str | None] = []
    for row, value in enumerate(array):
        text = None
        try:
            if value.is_valid:
                text = _to_json(value.as_py(maps_as_pydicts="strict"))
        except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
            message = f"column `{member.column}` has a value that isn't JSON: {error}"
            pointer = "".join(f"/{name}" for name in member.path)
            refused[row] = EventError(message, pointer)
        texts.append(text)
    return pa.array(texts, pa.large_string())


def _stored(given: Any) -> Any:
    """The type of the values themselves, without how they are stored."""
    if isinstance(given, pa.BaseExtensionType):
        return _stored(given.storage_type)
    if is_type.is_dictionary(given) or is_type.is_run_end_encoded(given):
        return _stored(given.value_type)
    return given


def _plain(array: Any) -> Any:
    """The values of an array, each by itself."""
    if isinstance(array.type, pa.BaseExtensionType):
        return _plain(array.storage)
    if is_type.is_dictionary(array.type):
        values = _plain(array.dictionary)
        if is_type.is_string_view(values.type):  # which `take` doesn't know
            values = values.cast(pa.large_string())
        return values.take(array.indices)
    if is_type.is_run_end_encoded(array.type):
        return _plain(pc.run_end_decode(array))
    return array


def _is_text(given: Any) -> bool:
    return any(
        check(given)
        for check in (is_type.is_string, is_type.is_large_string, is_type.is_string_view)
    )


def _is_list(given: Any) -> bool:
    checks = (
        is_type.is_list,
        is_type.is_large_list,
        is_type.is_fixed_size_list,
        is_type.is_list_view,
        is_type.is_large_list_view,
    )
    return any(check(given) for check in checks)
