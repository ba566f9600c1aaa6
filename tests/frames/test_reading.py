"""Frames with columns and values of all kinds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tidegate.errors import EventError
from tidegate.evaluation import native
from tidegate.frames import rows
from tidegate.frames.reading import ROWS, read_frame

MOMENT = datetime(2026, 3, 2, 10, 0, 0, 123456, tzinfo=UTC)


def read(frame: Any, variables: tuple[str, ...] = ()) -> list[Any]:
    """The events of a frame, the same from both writers; an error as its text."""
    answers = [
        [
            str(each) if isinstance(each, EventError) else orjson.loads(each)
            for part in read_frame(frame, variables, write)
            for each in part
        ]
        for write in (native.write_rows, rows.write_rows)
    ]
    assert answers[0] == answers[1]
    return answers[0]


def table(**columns: Any) -> pa.Table:
    """A table whose column names have dots for underscores of two."""
    return pa.table({name.replace("__", "."): values for name, values in columns.items()})


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_a_frame_of_each_library_gives_the_same_events(library: str) -> None:
    """Text, numbers, categories and nulls are read alike from Arrow, polars and pandas."""
    data = {
        "request.path": ["/", None, "/ä\n"],
        "request.method": ["GET", "POST", "GET"],
        "fields.count": [1, 2, 3],
        "fields.share": [0.5, 1e16, 2.0],
        "fields.is_new": [True, False, True],
        "observed_at": [MOMENT, MOMENT + timedelta(seconds=1), None],
    }
    frame: Any
    if library == "pyarrow":
        frame = pa.table(data)
        encoded = frame["request.method"].dictionary_encode()
        frame = frame.set_column(1, "request.method", encoded)
    elif library == "polars":
        frame = pl.DataFrame(data).with_columns(pl.col("request.method").cast(pl.Categorical))
    else:
        frame = pd.DataFrame(data).astype({"request.method": "category"})
        frame = pd.concat([frame, frame])[:3]  # an index that isn't a range
    found = read(frame)
    assert [each["request"]["path"] for each in found] == ["/", None, "/ä\n"]
    assert [each["request"]["method"] for each in found] == ["GET", "POST", "GET"]
    assert found[1]["fields"] == {"count": 2, "share": 1e16, "is_new": False}
    assert [each["observed_at"] and each["observed_at"][:26] for each in found] == [
        "2026-03-02T10:00:00.123456",
        "2026-03-02T10:00:01.123456",
        None,
    ]


def test_objects_are_structs_maps_or_json() -> None:
    """Headers may be a struct, a map or the text of a JSON object."""
    headers = {"a": "1", "b": 'x"y'}
    kinds = [
        pa.array([headers]),
        pa.array([list(headers.items())], pa.map_(pa.string(), pa.string())),
        pa.array([orjson.dumps(headers).decode()]),
    ]
    for kind in kinds:
        assert read(table(request__headers=kind)) == [{"request": {"headers": headers}}]
    assert read(table(request=pa.array([{"path": "/", "headers": headers}]))) == [
        {"request": {"path": "/", "headers": headers}}
    ]
    assert read(table(fields__tags=[["a", "b"], None])) == [
        {"fields": {"tags": ["a", "b"]}},
        {"fields": {"tags": None}},
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["{}", '{"a":', "{}"], "column `request.headers` has text that isn't JSON at `/request"),
        (["{}", '{},"path":"/"', "{}"], "column `request.headers` has text that isn't JSON"),
        (
            pa.array([[], [("a", "1"), ("a", "2")], []], pa.map_(pa.string(), pa.string())),
            "column `request.headers` has a value that isn't JSON",
        ),
    ],
)
def test_a_bad_value_refuses_its_row_alone(values: Any, message: str) -> None:
    """A row whose value can't be in an event has an error that names the column."""
    first, error, last = read(table(request__headers=values))
    assert (first, last) == ({"request": {"headers": {}}},) * 2
    assert message in error


def test_numbers_without_json_refuse_their_row() -> None:
    """NaN and infinities aren't JSON, in a column as in a list."""
    found = read(table(fields__x=[float("nan"), 1.5, float("inf")], fields__y=[[1.0]] * 3))
    assert [isinstance(each, str) for each in found] == [True, False, True]
    assert "column `fields.x` has a value that isn't JSON" in found[0]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("request.path", [1], "column `request.path` has the type `int64`; it must be text"),
        ("request.path", [b"/"], "has the type `binary`; it must be text"),
        ("request.headers", [["a"]], "it must be a struct, a map, or text that is a JSON object"),
        ("observed_at", [1], "it must be text, or a timestamp with a time zone"),
        ("observed_at", [datetime(2026, 3, 2)], "column `observed_at` is a datetime without"),
        ("fields.at", [MOMENT], "cast it to text"),
        ("fields.sum", [Decimal("1.5")], "cast it to text"),
    ],
)
def test_a_column_of_another_type_is_refused(column: str, values: list[Any], message: str) -> None:
    """A type that no row could have is refused before any row, with the column and its mend."""
    with pytest.raises(EventError, match=message):
        read(pa.table({column: values}))


def test_declared_variables_are_columns_too() -> None:
    """A declared variable has its value from the column of its name, moments too."""
    frame = table(plan__level=[3], since=pa.array([MOMENT], pa.timestamp("us", "Europe/Berlin")))
    assert read(frame, ("plan.level", "since")) == [
        {"plan.level": 3, "since": "2026-03-02T10:00:00.123456Z"}
    ]
    with pytest.raises(EventError, match=r"column `plan.level` isn't a member"):
        read(frame)


def test_empty_frames_have_no_events() -> None:
    """A frame without rows gives none, and its columns are checked all the same."""
    assert read(table(request__path=pa.array([], pa.string()))) == []
    assert read(pa.table({})) == []
    assert read(table(request__path=pa.nulls(2))) == [{"request": {"path": None}}] * 2
    with pytest.raises(EventError, match="label"):
        read(table(label=pa.array([], pa.string())))


def test_parts_of_a_frame_are_in_order() -> None:
    """Rows keep their order over slices, chunks and parts."""
    paths = [f"/{number}" for number in range(2 * ROWS + 10)]
    whole = pa.table({"request.path": paths, "fields.n": [None, *range(1, len(paths))]})
    frame = pa.concat_tables([whole.slice(0, 7), whole.slice(7)]).slice(3)
    found = read(frame)
    assert [each["request"]["path"] for each in found] == paths[3:]
    assert [each["fields"]["n"] for each in found] == list(range(3, len(paths)))


def test_what_isnt_a_table_is_refused() -> None:
    """A series, a broken stream and damaged text are refused instead of read in part."""
    with pytest.raises(EventError, match="the frame isn't a table of columns"):
        read(pl.Series("request.path", ["/"]))
    buffers = [None, pa.py_buffer((0).to_bytes(4, "little") + (1).to_bytes(4, "little"))]
    damaged = pa.Array.from_buffers(pa.string(), 1, [*buffers, pa.py_buffer(b"\xff")])
    with pytest.raises(EventError, match=r"column `request.path` is damaged: .*UTF8"):
        read(table(request__path=damaged))
    batch = pa.record_batch({"request.path": ["/"]})

    def batches() -> Any:
        yield batch
        raise OSError("the disk is away")

    with pytest.raises(EventError, match="the frame can't be read to its end"):
        read(pa.RecordBatchReader.from_batches(batch.schema, batches()))
