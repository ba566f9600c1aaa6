"""Results over frames."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator

EVALUATORS: tuple[Evaluator, ...] = ("native", "reference")
RULES = {
    "login": 'request.path == "/login"',
    "bot": 'request.headers["user-agent"].contains("bot")',
    "many": "int(fields.count) > 3",
}
DEFINITIONS = tidegate.load_definitions(
    {
        "apiVersion": "tidegate/v1",
        "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
        "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 900}],
        "policies": [
            {
                "name": "Login",
                "expression": RULES["login"],
                "clauses": [
                    {
                        "entity": "address",
                        "mitigation": "refuse",
                        "window": {"duration_seconds": 60, "threshold": 2},
                    }
                ],
            }
        ],
    }
)
AT = 1_772_000_000 * 10**9
TEXTS = st.none() | st.sampled_from(["/login", "/", "192.0.2.7", "Example bot", "x\ny"]) | st.text()
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "request.path": TEXTS,
            "request.client_ip": TEXTS,
            "request.headers.user-agent": TEXTS,
            "request.cookies": st.none() | st.sampled_from(['{"a":"1"}', "{}", "[1]", "{"]),
            "fields.count": st.none() | st.integers(0, 5),
            "return_url": st.none() | st.sampled_from(["https://a.example/", "no url"]),
        }
    ),
    max_size=6,
)
SCHEMA = pa.schema(
    {
        "request.path": pa.string(),
        "request.client_ip": pa.string(),
        "request.headers.user-agent": pa.large_string(),
        "request.cookies": pa.string(),
        "fields.count": pa.int32(),
        "return_url": pa.string(),
    }
)


def event_of(row: dict[str, Any]) -> bytes | None:
    """The event that the row of a frame stands for; None where its cookies aren't JSON."""
    try:
        cookies = row["request.cookies"] and orjson.loads(row["request.cookies"])
    except orjson.JSONDecodeError:
        return None
    request = {
        "path": row["request.path"],
        "client_ip": row["request.client_ip"],
        "headers": {"user-agent": row["request.headers.user-agent"]},
        "cookies": cookies,
    }
    fields = {"count": row["fields.count"]}
    event = {"request": request, "fields": fields, "return_url": row["return_url"]}
    return orjson.dumps(event)


@given(ROWS)
def test_matching_a_frame_is_matching_each_row(rows: list[dict[str, Any]]) -> None:
    """Both evaluators give a frame the results of its rows, one by one."""
    events = [event_of(row) for row in rows]
    for evaluator in EVALUATORS:
        rules = tidegate.RuleSet(RULES, evaluator=evaluator)
        found = rules.match_batch(pa.Table.from_pylist(rows, SCHEMA), errors=True).to_pylist()
        for event, row in zip(events, found, strict=True):
            try:
                expected = None if event is None else rules.match(event, errors=True)
            except tidegate.EventError:
                expected = None
            if expected is None:
                assert row["error"]
                assert row["matched"] is row["errors"] is None
            else:
                assert row == {
                    "matched": expected.matched,
                    "errors": list(expected.errors.items()),
                    "error": None,
                }


@given(ROWS)
def test_deciding_a_frame_is_deciding_each_row(rows: list[dict[str, Any]]) -> None:
    """Both evaluators count the rows of a frame in order, as the same events one by one."""
    frame = pa.Table.from_pylist(rows, SCHEMA)
    for evaluator in EVALUATORS:
        single, whole = (tidegate.Engine(DEFINITIONS, evaluator) for _ in range(2))
        found = whole.decide_batch(frame, AT).to_pylist()
        for event, row in zip(map(event_of, rows), found, strict=True):
            try:
                answer = None if event is None else single.decide_json(event, AT)
            except tidegate.EventError as error:
                assert row["error"] == str(error)
                continue
            assert row["answer"] == (None if answer is None else answer.decode())
            assert (row["error"] is None) is (answer is not None)
        assert single.snapshot() == whole.snapshot()


def test_the_results_are_columns_of_any_library() -> None:
    """A table of results is joined in polars to the columns that it came from."""
    frame = pl.DataFrame({"request.path": ["/login"] * 3, "request.client_ip": ["192.0.2.7"] * 3})
    decided = tidegate.Engine(DEFINITIONS).decide_batch(frame, AT)
    assert pl.DataFrame(decided)["action"].to_list() == ["allow", "block", "block"]
    assert decided.column_names == ["action", "reason", "answer", "error"]
    matched = tidegate.RuleSet(RULES).match_batch(frame)
    both = frame.hstack(pl.DataFrame(matched))
    assert both.filter(pl.col("matched").list.contains("login")).height == 3


def test_an_empty_frame_has_an_empty_table() -> None:
    """No rows give a table with the same columns."""
    frame = pa.table({"request.path": pa.array([], pa.string())})
    assert tidegate.RuleSet(RULES).match_batch(frame).column_names == ["matched", "error"]
    assert tidegate.Engine(DEFINITIONS).decide_batch(frame).num_rows == 0


def test_a_refused_frame_changes_nothing() -> None:
    """A frame with an unknown column is refused before its first row is counted."""
    engine = tidegate.Engine(DEFINITIONS)
    before = engine.snapshot()
    with pytest.raises(tidegate.EventError, match=r"did you mean `request\.path`"):
        engine.decide_batch(pl.DataFrame({"request.pth": ["/login"]}), AT)
    assert engine.snapshot() == before


def test_a_frame_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optional dependency is named with the command that installs it."""
    frame = pl.DataFrame({"request.path": ["/"]})
    monkeypatch.delattr("tidegate.frames.results")
    monkeypatch.delitem(sys.modules, "tidegate.frames.results")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'tidegate\[frames\]'"):
        tidegate.RuleSet(RULES).match_batch(frame)


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_declared_variables_are_columns(evaluator: Evaluator) -> None:
    """A rule set reads its own variables from the columns of their names."""
    schema = tidegate.Schema.default().with_variables({"plan.level": "int"})
    rules = tidegate.RuleSet({"high": "plan.level > 2"}, schema, evaluator)
    found = rules.match_batch(pa.table({"plan.level": [1, 3], "source": ["a", "b"]}))
    assert found["matched"].to_pylist() == [[], ["high"]]
