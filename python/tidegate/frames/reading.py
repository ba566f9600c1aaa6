"""Reads the rows of a frame as events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from tidegate.errors import EventError
from tidegate.frames.columns import check_type, to_column
from tidegate.frames.form import literals, members_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tidegate.frames.form import Member
    from tidegate.frames.frame import Frame
    from tidegate.frames.rows import Column

ROWS = 4096
"""Rows that are in memory as events at a time."""
_INDEX = re.compile(r"__index_level_\d+__")
"""The name that pandas gives to an index without one; it only numbers the rows."""


def read_frame(
    frame: Frame,
    variables: Collection[str],
    write_rows: Callable[[Sequence[Column], str, int], list[bytes | int]],
) -> Iterator[list[bytes | EventError]]:
    """The rows as JSON events, some thousand at a time.

    Args:
        frame: has a column for each member of the events.
        variables: names of declared variables, which are members too.
        write_rows: ``tidegate.frames.rows.write_rows``, or the native one.

    Returns:
        Events in the order of the rows; a row that isn't one has its error in its place.

    Raises:
        EventError: the frame has no columns for events, or is damaged.
    """
    try:
        reader = pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise EventError(f"the frame isn't a table of columns: {error}") from None
    numbers = [n for n, name in enumerate(reader.schema.names) if not _INDEX.fullmatch(name)]
    members = members_of([reader.schema.names[number] for number in numbers], variables)
    for number, member in zip(numbers, members, strict=True):
        check_type(member, reader.schema.types[number])
    return _events(reader, list(zip(numbers, members, strict=True)), write_rows)


def _events(
    reader: Any,
    columns: Sequence[tuple[int, Member]],
    write_rows: Callable[[Sequence[Column], str, int], list[bytes | int]],
) -> Iterator[list[bytes | EventError]]:
    placed, after = literals([member.path for _, member in columns])
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, ValueError, OSError) as error:
            raise EventError(f"the frame can't be read to its end: {error}") from None
        for start in range(0, batch.num_rows, ROWS):
            part = batch.slice(start, ROWS)
            made, refused = [], dict[int, EventError]()
            for place, before in placed:
                number, member = columns[place]
                column, faults = to_column(member, part.column(number), before)
                made.append(column)
                refused = {**faults, **refused}
            rows = write_rows(made, after, part.num_rows)
            if not refused and int not in set(map(type, rows)):
                yield cast("list[bytes | EventError]", rows)
                continue
            in_order = [columns[place][1] for place, _ in placed]
            yield [
                refused.get(row) or (_not_json(in_order[each]) if isinstance(each, int) else each)
                for row, each in enumerate(rows)
            ]


def _not_json(member: Member) -> EventError:
    pointer = "".join(f"/{name}" for name in member.path)
    return EventError(f"column `{member.column}` has text that isn't JSON", pointer)
