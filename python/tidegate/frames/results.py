"""The results of events as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import orjson
import pyarrow as pa

from tidegate.errors import EventError
from tidegate.frames.reading import read_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tidegate.evaluation.matches import Matches
    from tidegate.evaluation.rules import Evaluator
    from tidegate.frames.frame import Frame

_TEXTS = pa.list_(pa.string())
_MATCHED = pa.schema({"matched": _TEXTS})
_ERRORS = pa.map_(pa.string(), pa.string())
_WITH_ERRORS = pa.schema({"matched": _TEXTS, "errors": _ERRORS})
_DECIDED = pa.schema(dict.fromkeys(("action", "reason", "answer"), pa.string()))
_ERROR = pa.field("error", pa.string())


def match_frame(
    frame: Frame,
    variables: Collection[str],
    evaluator: Evaluator,
    match: Callable[[list[bytes]], Sequence[Matches | EventError]],
    errors: bool,
) -> Any:
    """The table of ``RuleSet.match_batch``."""

    def to_columns(found: Sequence[Matches]) -> list[Any]:
        columns = [pa.array([each.matched for each in found], _TEXTS)]
        if errors:
            columns.append(pa.array([list(each.errors.items()) for each in found], _ERRORS))
        return columns

    schema = _WITH_ERRORS if errors else _MATCHED
    return _table(frame, variables, evaluator, match, schema, to_columns)


def decide_frame(
    frame: Frame,
    evaluator: Evaluator,
    decide: Callable[[list[bytes]], Sequence[bytes | EventError]],
) -> Any:
    """The table of ``Engine.decide_batch``."""

    def to_columns(answers: Sequence[bytes]) -> list[Any]:
        numbers = {answer: number for number, answer in enumerate(dict.fromkeys(answers))}
        read = [orjson.loads(answer) for answer in numbers]  # most answers are the same few
        columns = (
            [each["action"]["type"] for each in read],
            [each["reason"] for each in read],
            [answer.decode() for answer in numbers],
        )
        rows = pa.array([numbers[answer] for answer in answers], pa.int64())
        return [pa.array(column, pa.string()).take(rows) for column in columns]

    return _table(frame, (), evaluator, decide, _DECIDED, to_columns)


def _table(
    frame: Frame,
    variables: Collection[str],
    evaluator: Evaluator,
    answer: Callable[[list[bytes]], Sequence[Any]],
    schema: Any,
    to_columns: Callable[[Sequence[Any]], list[Any]],
) -> Any:
    """A table with a row for each event, and a last column with the errors of refused ones.

    Args:
        frame: the events.
        variables: names of declared variables.
        evaluator: the one whose writer of rows is used.
        answer: gives the result of each event, or its error.
        schema: of the results.
        to_columns: gives the columns of results without errors.
    """
    if evaluator == "native":
        from tidegate.evaluation.native import write_rows
    else:
        from tidegate.frames.rows import write_rows
    batches = []
    whole = schema.append(_ERROR)
    for events in read_frame(frame, variables, write_rows):
        if _has_errors(events):
            answers = iter(answer([each for each in events if isinstance(each, bytes)]))
            found = [each if isinstance(each, EventError) else next(answers) for each in events]
        else:
            found = list(answer(cast("list[bytes]", events)))
        columns, errors = _split(found, to_columns)
        batches.append(pa.RecordBatch.from_arrays([*columns, errors], schema=whole))
    return pa.Table.from_batches(batches, whole)


def _has_errors(values: Sequence[Any]) -> bool:
    return EventError in set(map(type, values))


def _split(
    found: Sequence[Any], to_columns: Callable[[Sequence[Any]], list[Any]]
) -> tuple[list[Any], Any]:
    """The columns of the results, null where there is an error; and the errors as texts."""
    if not _has_errors(found):
        return to_columns(found), pa.nulls(len(found), pa.string())
    good = [each for each in found if not isinstance(each, EventError)]
    numbers = iter(range(len(good)))
    order = [None if isinstance(each, EventError) else next(numbers) for each in found]
    errors = [str(each) if isinstance(each, EventError) else None for each in found]
    rows = pa.array(order, pa.int64())
    columns = [column.take(rows) for column in to_columns(good)]
    return columns, pa.array(errors, pa.string())
