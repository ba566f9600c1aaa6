"""The published CEL conformance cases, run through an evaluator.

    python -m tidegate.testing.conformance DIRECTORY [--evaluator native|reference|both]

The directory has one JSON file per section, in the format that the README next to the cases
describes (``cel-conformance-json/1``).
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click
import orjson

from tidegate.errors import TidegateError
from tidegate.evaluation.rules import Evaluator, compile_rules
from tidegate.language.check.checker import check
from tidegate.language.check.macros import recognise
from tidegate.language.parse.parser import parse
from tidegate.language.tree.ast import Call
from tidegate.language.tree.schema import Schema
from tidegate.language.tree.walk import walk
from tidegate.types import (
    DYN,
    PRIMITIVES,
    TYPE,
    AbstractType,
    ListType,
    MapType,
    OptionalType,
    Signature,
    Type,
    TypeParam,
    TypeType,
)
from tidegate.values import from_python, to_python
from tidegate.wire_values import from_wire, to_wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tidegate.language.tree.ast import Node

Case: TypeAlias = "Mapping[str, Any]"
Result: TypeAlias = dict[str, Any]

EXCLUDED = {"block_ext/basic/call": "the pattern of `matches` has to be a constant"}
"""Cases that are left out, each with its reason."""
_SUITE_VARIABLE = re.compile(r"cel\.iterVar\(([0-9]+), ([0-9]+)\)")
"""A variable in cases of ``cel.block``, by the nesting of its macro, as the suite writes it."""


def text_of(case: Case) -> str:
    """The expression of a case, with variables by names as a program writes them."""
    return _SUITE_VARIABLE.sub(r"iterVar_\1_\2", case["expr"])


def run_case(case: Case, evaluator: Evaluator = "native") -> Result:
    """Parse, check and evaluate one case.

    Returns:
        One of ``{"kind": "value", "value": VALUE, "deduced_type": TYPE}``, ``{"kind": "checked",
        "deduced_type": TYPE}`` for a case that must not be evaluated, and ``{"kind": "error",
        "phase": "parse" | "check" | "eval", "message": str}``; VALUE and TYPE as in the cases.
        Never raises: a malformed case is an error, too.
    """
    phase = "parse"
    try:
        text = text_of(case)
        tree = parse(text)
        phase = "check"
        if case.get("disable_macros"):
            _refuse_macros(tree)
        bindings = {name: from_wire(value) for name, value in case.get("bindings", {}).items()}
        schema = _schema(case, bindings)
        checked = check(text, schema, strict=not case.get("disable_check"))
        deduced = type_to_json(checked.type)
        if case.get("check_only"):
            return {"kind": "checked", "deduced_type": deduced}
        phase = "eval"
        rules = compile_rules({"": checked}, schema, evaluator)
        event = {name: to_python(value) for name, value in bindings.items()}
        value = to_wire(from_python(rules.evaluate(0, event)))
    except TidegateError as error:
        return {"kind": "error", "phase": phase, "message": str(error)}
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        return {"kind": "error", "phase": phase, "message": f"the case is malformed: {error}"}
    return {"kind": "value", "value": value, "deduced_type": deduced}


def _refuse_macros(tree: Node) -> None:
    for node in walk(tree):
        if isinstance(node, Call) and recognise(node) is not None:
            raise ValueError(f"`{node.function}` is a macro and macros are disabled")


def _schema(case: Case, bindings: Iterable[str]) -> Schema:
    types: dict[str, Type] = dict.fromkeys(bindings, DYN)
    functions: list[Signature] = []
    for entry in case.get("type_env", ()):
        if entry["kind"] == "variable":
            types[entry["name"]] = type_from_json(entry["type"])
        else:
            functions.extend(_signatures(entry))
    schema = Schema.empty().with_variables(types).with_functions(functions)
    return schema.with_container(case.get("container", ""))


def _signatures(entry: Mapping[str, Any]) -> Iterator[Signature]:
    for overload in entry["overloads"]:
        params = tuple(map(type_from_json, overload["params"]))
        result = type_from_json(overload["result"])
        yield Signature(entry["name"], bool(overload.get("member")), params, result)


def type_from_json(written: Any) -> Type:
    """The type for a TYPE of the cases.

    Raises:
        ValueError: it isn't a TYPE.
    """
    match written:
        case str() if written in PRIMITIVES:
            return PRIMITIVES[written]
        case {"kind": "list", "elem": element}:
            return ListType(type_from_json(element))
        case {"kind": "map", "key": key, "value": value}:
            return MapType(type_from_json(key), type_from_json(value))
        case {"kind": "type", "param": param}:
            return TypeType(type_from_json(param))
        case {"kind": "type_param", "name": str(name)}:
            return TypeParam(name)
        case {"kind": "abstract", "name": "optional_type", "params": [value]}:
            return OptionalType(type_from_json(value))
        case {"kind": "abstract", "name": str(name), "params": list(params)}:
            return AbstractType(name, tuple(map(type_from_json, params)))
    raise ValueError(f"`{written}` is no type")


def type_to_json(kind: Type) -> Any:
    """The TYPE of the cases for a type."""
    match kind:
        case ListType(element=element):
            return {"kind": "list", "elem": type_to_json(element)}
        case MapType(key=key, value=value):
            return {"kind": "map", "key": type_to_json(key), "value": type_to_json(value)}
        case TypeType(of=of):
            return {"kind": "type", "param": type_to_json(of)}
        case TypeParam(name=name):
            return {"kind": "type_param", "name": name}
        case OptionalType(value=value):
            return {"kind": "abstract", "name": "optional_type", "params": [type_to_json(value)]}
        case AbstractType(name=name, parameters=params):
            return {"kind": "abstract", "name": name, "params": [*map(type_to_json, params)]}
        case _ if kind is TYPE:
            return {"kind": "type", "param": "dyn"}
        case _:
            return kind.name


def agrees(expect: Mapping[str, Any], result: Result) -> bool:
    """Whether a result is the one that a case expects (its ``expect`` member)."""
    if expect["kind"] == "error":
        return bool(result["kind"] == "error")
    if result["kind"] == "error":
        return False
    if expect["kind"] == "typed" and expect["deduced_type"] != result["deduced_type"]:
        return False
    return "value" not in expect or is_same_value(expect["value"], result.get("value"))


def is_same_value(left: Any, right: Any) -> bool:
    """Whether two VALUEs are the same: equal types, NaN is NaN, 0.0 is -0.0, any order in maps."""
    if not isinstance(left, dict) or not isinstance(right, dict):
        return bool(left == right)
    if left.get("type") != right.get("type"):
        return False
    one: Any = left.get("value")
    other: Any = right.get("value")
    match left["type"]:
        case "double":
            a, b = float(one), float(other)
            return a == b or (math.isnan(a) and math.isnan(b))
        case "list":
            return len(one) == len(other) and all(map(is_same_value, one, other))
        case "map":
            return len(one) == len(other) and all(
                any(is_same_value(a, c) and is_same_value(b, d) for c, d in other) for a, b in one
            )
        case "optional":
            return is_same_value(one, other)
        case _:
            return bool(left == right)


def read_sections(directory: Path) -> Iterator[tuple[str, list[Case]]]:
    """Every section of the published format in a directory, with its cases."""
    for path in sorted(directory.glob("*.json")):
        document = orjson.loads(path.read_bytes())
        if "section" in document:
            yield document["section"], document["tests"]


def _report(evaluator: Evaluator, section: str, text: str) -> None:
    click.echo(f"{evaluator:10} {section:16} {text}")


def _run_section(name: str, cases: list[Case], evaluator: Evaluator) -> Counter[str]:
    counts: Counter[str] = Counter()
    for case in cases:
        if case["id"] in EXCLUDED:
            click.echo(f"left out {case['id']}: {EXCLUDED[case['id']]}")
            continue
        result = run_case(case, evaluator)
        is_right = agrees(case["expect"], result)
        counts["passed" if is_right else "failed"] += 1
        if not is_right:
            shown = result.get("message") or result
            click.echo(f"FAILED {evaluator} {case['id']}: {case['expr']!r}: {shown}")
    _report(evaluator, name, _counted(counts))
    return counts


def _counted(counts: Counter[str]) -> str:
    return f"{counts['passed']:6} passed {counts['failed']:4} failed"


def _run(directory: Path, evaluator: Evaluator) -> Counter[str]:
    total: Counter[str] = Counter()
    for name, cases in read_sections(directory):
        total += _run_section(name, cases, evaluator)
    _report(evaluator, "total", _counted(total))
    return total


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--evaluator", type=click.Choice(["native", "reference", "both"]), default="both")
def main(directory: Path, evaluator: Literal["native", "reference", "both"]) -> None:
    """Run the published CEL cases in DIRECTORY; exit 1 when one fails."""
    evaluators: list[Evaluator] = ["reference", "native"] if evaluator == "both" else [evaluator]
    failed = sum(_run(directory, chosen)["failed"] for chosen in evaluators)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
