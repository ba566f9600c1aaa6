"""Bodies and queries to classes: every finding, each with its place."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import attrs
import pytest
from msgspec import UNSET, Meta, UnsetType

from tidegate.policy.definitions.findings import MAX_FINDINGS
from tidegate_server.http import convert
from tidegate_server.http.convert import convert_body, convert_parameters
from tidegate_server.http.problems import Problem


@attrs.frozen(kw_only=True)
class Inner:
    number: Annotated[int, Meta(ge=1, le=10)]
    note: str | None = None


@attrs.frozen(kw_only=True)
class Outer:
    name: Annotated[str, Meta(min_length=1, max_length=5)]
    inner: Inner | None = None
    items: Annotated[tuple[Inner, ...], Meta(max_length=2)] = ()
    words: tuple[Annotated[str, Meta(max_length=3)], ...] = ()
    headers: dict[str, str] = attrs.field(factory=dict)
    changed: str | UnsetType | None = UNSET
    id: UUID | None = None


def findings(value: Any) -> dict[str, str]:
    with pytest.raises(Problem) as raised:
        convert_body(value, Outer)
    assert raised.value.code == "invalid-request"
    return {str(each.pointer): each.detail for each in raised.value.errors}


def test_a_good_body_becomes_an_instance() -> None:
    """Members left out have their defaults, and differ from null ones."""
    body = {"name": "a", "inner": {"number": 3}, "items": [{"number": 1}], "changed": None}
    made = convert_body(body, Outer)
    assert made == Outer(name="a", inner=Inner(number=3), items=(Inner(number=1),), changed=None)
    assert convert_body({"name": "a"}, Outer).changed is UNSET


def test_all_findings_come_at_once() -> None:
    """Unknown, missing and wrong members, at every depth, each with its pointer."""
    found = findings(
        {
            "inner": {"number": 0, "nmber": 1},
            "items": [{"number": 1}, {"number": "1"}, {}],
            "words": ["ok", 5, "long"],
            "headers": {"a/b": 1, "c": "d"},
            "id": "no",
        }
    )
    assert found[""] == "`name` is missing"
    assert found["/inner/number"] == "expected `int` >= 1"
    assert found["/inner/nmber"] == "unknown member `nmber`"
    assert found["/items"] == "3 items, but from 0 to 2 may be given"
    assert found["/words/1"] == "expected `str`, got `int`"
    assert found["/words/2"] == "expected `str` of length <= 3"
    assert found["/headers/a~1b"] == "expected `str`, got `int`"
    assert found["/id"] == "invalid UUID"


def test_a_whole_number_may_be_written_with_a_fraction() -> None:
    """JSON has one kind of number; an integer that is out of bounds stays so."""
    assert convert_body({"name": "a", "inner": {"number": 3.0}}, Outer).inner == Inner(number=3)
    assert set(findings({"name": "a", "inner": {"number": 3.5}})) == {"/inner/number"}
    assert set(findings({"name": "a", "inner": {"number": 1e300}})) == {"/inner/number"}


def test_every_item_of_a_list_is_looked_at() -> None:
    """A bad item of a list does not hide the next one."""
    found = findings({"name": "a", "items": [{"number": "x"}, {"other": 1, "number": 99}]})
    assert set(found) == {"/items/0/number", "/items/1/other", "/items/1/number"}


@pytest.mark.parametrize("value", [None, 1, True, "text", []])
def test_a_body_must_be_an_object(value: Any) -> None:
    """Anything else is one finding about the whole."""
    assert findings(value)[""].startswith("expected an object, found ")


def test_a_near_name_is_offered() -> None:
    """A misspelt member comes with what was likely meant."""
    with pytest.raises(Problem) as raised:
        convert_body({"name": "a", "itmes": []}, Outer)
    assert raised.value.errors[0].hint == "did you mean `items`?"


def test_a_body_of_many_mistakes_is_answered_with_some() -> None:
    """The list of findings is bounded."""
    found = findings({"name": "a", **{f"x{at}": at for at in range(5_000)}})
    assert len(found) == 200


@attrs.frozen(kw_only=True)
class Query:
    since: Annotated[datetime, Meta(tz=True)] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    flag: bool = False


def test_parameters_are_read_from_text() -> None:
    """Numbers and bools are written as text in a query."""
    assert convert_parameters({"limit": "7", "flag": "true"}, Query) == Query(limit=7, flag=True)


@pytest.mark.parametrize(
    "values",
    [
        *({"limit": text} for text in ("0", "x", "7.0", "1e1", "+7", "07", "null", "1" * 5_000)),
        {"limt": "1"},
        *({"flag": text} for text in ("2", "1", "True", "null", "")),
        *({"since": text} for text in ("null", "1700000000", "2026-01-01", "")),
    ],
)
def test_wrong_parameters_are_named(values: dict[str, str]) -> None:
    """The finding says which parameter it is about."""
    with pytest.raises(Problem) as raised:
        convert_parameters(values, Query)
    assert [each.parameter for each in raised.value.errors] == list(values)


@attrs.frozen
class Texts:
    texts: list[str]
    counts: dict[str, int]


@pytest.mark.parametrize(
    "body",
    [
        {f"member{number}": 1 for number in range(50_000)},
        {"texts": [1] * 50_000, "counts": {}},
        {"texts": [], "counts": {f"m{number}": "a" for number in range(50_000)}},
    ],
)
def test_a_body_that_is_wrong_in_very_many_places_is_looked_at_no_further(
    body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk ends with as many findings as are shown."""
    reported = []
    report = convert._Walk._report

    def noted(*given: Any) -> None:
        reported.append(given)
        report(*given)

    monkeypatch.setattr(convert._Walk, "_report", noted)
    with pytest.raises(Problem) as raised:
        convert_body(body, Texts)
    assert len(raised.value.errors) == len(reported) == MAX_FINDINGS
