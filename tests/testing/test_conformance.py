"""The runner of the published cases: its results, and that it never raises."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from tidegate.testing.conformance import (
    agrees,
    is_same_value,
    main,
    run_case,
    type_from_json,
    type_to_json,
)
from tidegate.types import parse_type


def run(**case: Any) -> dict[str, Any]:
    return run_case(case, "reference")


def test_value_comes_with_its_type() -> None:
    """A case that evaluates gives VALUE and TYPE as the cases write them."""
    assert run(expr="[1u]") == {
        "kind": "value",
        "value": {"type": "list", "value": [{"type": "uint", "value": "1"}]},
        "deduced_type": {"kind": "list", "elem": "uint"},
    }


def test_check_only_gives_no_value() -> None:
    """A case that is only to be checked is not evaluated."""
    assert run(expr="1 + 1", check_only=True) == {"kind": "checked", "deduced_type": "int"}


@pytest.mark.parametrize(
    ("case", "phase"),
    [
        ({"expr": "1 +"}, "parse"),
        ({"expr": "unknown"}, "check"),
        ({"expr": "1 + 'a'"}, "check"),
        ({"expr": "1 + 'a'", "disable_check": True}, "eval"),
        ({"expr": "[1].all(x, true)", "disable_macros": True}, "check"),
        ({"expr": "x", "type_env": [{"kind": "variable", "name": "x", "type": "int"}]}, "eval"),
    ],
)
def test_errors_name_their_phase(case: dict[str, Any], phase: str) -> None:
    """A refusal and a failed evaluation give different results."""
    result = run_case(case, "reference")
    assert (result["kind"], result["phase"]) == ("error", phase)
    assert result["message"]


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"expr": None},
        {"expr": 1},
        {"expr": "x", "bindings": {"x": {"type": "int"}}},
        {"expr": "x", "bindings": []},
        {"expr": "x", "type_env": [{"kind": "variable"}]},
        {"expr": "x", "type_env": [{"kind": "variable", "name": "x", "type": "nope"}]},
        {"expr": "'\ud800'"},
    ],
)
def test_malformed_cases_are_errors(case: dict[str, Any]) -> None:
    """A malformed case gives an error result, and the runner does not raise."""
    assert run_case(case, "reference")["kind"] == "error"


def test_bindings_and_container_are_used() -> None:
    """Variables get the values of the case and are found in its container."""
    case = {
        "expr": "y + 1",
        "container": "a.b",
        "type_env": [{"kind": "variable", "name": "a.b.y", "type": "int"}],
        "bindings": {"a.b.y": {"type": "int", "value": "4"}},
    }
    assert run_case(case, "reference")["value"] == {"type": "int", "value": "5"}


@pytest.mark.parametrize(
    "text",
    ["int", "list(string)", "map(string, dyn)", "optional_type(int)", "type(int)", "tuple(A, B)"],
)
def test_types_go_to_their_written_form_and_back(text: str) -> None:
    """Types survive their written form."""
    kind = parse_type(text)
    assert type_from_json(type_to_json(kind)) == kind


def double(text: str) -> dict[str, Any]:
    return {"type": "double", "value": text}


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (double("NaN"), double("NaN"), True),
        (double("0.0"), double("-0.0"), True),
        (double("1.0"), {"type": "int", "value": "1"}, False),
        (
            {"type": "map", "value": [[double("1"), double("2")], [double("3"), double("4")]]},
            {"type": "map", "value": [[double("3"), double("4")], [double("1"), double("2")]]},
            True,
        ),
        ({"type": "list", "value": [double("1")]}, {"type": "list", "value": []}, False),
        ({"type": "type", "value": "int"}, {"type": "type", "value": "uint"}, False),
    ],
)
def test_values_compare_as_the_cases_say(
    left: dict[str, Any], right: dict[str, Any], same: bool
) -> None:
    """Types are equal, NaN is NaN, zeros are one, maps have no order."""
    assert is_same_value(left, right) is same


def test_an_expected_error_needs_an_error() -> None:
    """A value isn't an error, and an error isn't a value."""
    error, value = run(expr="1 / 0"), run(expr="true")
    assert agrees({"kind": "error"}, error)
    assert not agrees({"kind": "error"}, value)
    assert not agrees({"kind": "value", "value": value["value"]}, error)


def test_command_fails_when_a_case_fails(tmp_path: Any) -> None:
    """The command names each failure and ends with 1."""
    case = '{"id": "a/b/c", "expr": "1", "expect": {"kind": "error"}}'
    (tmp_path / "a.json").write_text(f'{{"section": "a", "tests": [{case}]}}')
    result = CliRunner().invoke(main, [str(tmp_path), "--evaluator", "reference"])
    assert result.exit_code == 1
    assert "FAILED reference a/b/c" in result.output
