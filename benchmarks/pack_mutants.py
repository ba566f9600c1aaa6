"""Changes packs one at a time, and names the changes that no test of the pack notices.

``python -m benchmarks.pack_mutants`` negates, drops and moves by one: each smallest condition of an
expression is negated, each text of a list is left out, each number of an expression, and each
threshold, duration and time to live of the definitions is one more and one less, and each action
of a clause is left out.
"""

from __future__ import annotations

import argparse
import re
import sys
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from tidegate.definitions import load_definitions
from tidegate.errors import DefinitionsError
from tidegate.packs import BUNDLED, Pack, bundled_pack
from tidegate.packs.objects import slug_of
from tidegate.testing.policies.finding import find_files
from tidegate.testing.policies.reading import load_tests
from tidegate.testing.policies.running import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.testing.policies.reading import Case

LEAST_KILLED = 0.9
"""The smallest share of changes that the tests of all packs together have to notice."""
Path: TypeAlias = "tuple[str | int, ...]"
_EXPRESSIONS = ("expression", "match_expression")
_NUMBERS = ("threshold", "duration_seconds", "ttl_seconds")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w.])")


@attrs.frozen
class Mutant:
    """A changed pack.

    Attributes:
        place: the changed member, in words.
        definitions: the definitions with the change.
    """

    place: str
    definitions: dict[str, Any]


def mutants(pack: Pack) -> Iterator[Mutant]:
    """Every change of a pack, one at a time."""
    for section, objects in pack.definitions.items():
        if not isinstance(objects, list):
            continue
        for at, found in enumerate(objects):
            name = f"{section}.{slug_of(section, found)}"
            for place, path, value in _changes(found):
                changed = deepcopy(dict(pack.definitions))
                _put(changed[section][at], path, value)
                yield Mutant(f"{name}{place}", changed)


def _changes(found: Any, path: Path = ()) -> Iterator[tuple[str, Path, Any]]:
    """The changes of a value: where, and the value instead."""
    shown = "".join(f".{each}" for each in path)
    members = found.items() if isinstance(found, dict) else enumerate(found)
    for name, value in members:
        inner = (*path, name)
        if name in _EXPRESSIONS and isinstance(value, str):
            for text, other in expression_changes(value):
                yield f"{shown}.{name}: {text}", inner, other
        elif name in _NUMBERS:
            for other in (value - 1, value + 1):
                yield f"{shown}.{name}: {other}", inner, other
        elif name == "actions":
            for number in range(len(value)):
                yield f"{shown}.{name}: without {value[number]}", inner, _without(value, number)
        elif isinstance(value, dict) or (isinstance(value, list) and name == "clauses"):
            yield from _changes(value, inner)


def _without(items: list[Any], number: int) -> list[Any]:
    return items[:number] + items[number + 1 :]


def _put(found: Any, path: Path, value: Any) -> None:
    for name in path[:-1]:
        found = found[name]
    found[path[-1]] = value


def expression_changes(text: str) -> Iterator[tuple[str, str]]:
    """The changes of an expression: what is changed, and the expression instead."""
    parts = conditions(text)
    for start, end in parts:
        part = text[start:end].strip()
        yield f"not {part[:60]}", f"{text[:start]} !({part}) {text[end:]}"
        if len(parts) > 1:
            # `&&` loses a condition if it is true, `||` if it is false.
            before = text[:start].rstrip()[-2:] or text[end:].lstrip()[:2]
            neutral = "false" if before == "||" else "true"
            yield f"without {part[:60]}", f"{text[:start]} ({neutral}) {text[end:]}"
    for match in _NUMBER.finditer(_TEXT.sub(lambda found: "x" * len(found[0]), text)):
        number = float(match[0]) if "." in match[0] else int(match[0])
        for other in (number - 1, number + 1):
            yield f"{match[0]} is {other}", text[: match.start()] + str(other) + text[match.end() :]
    for start, end, item in listed(text):
        yield f"without {item[:60]}", text[:start] + text[end:]


def conditions(text: str) -> list[tuple[int, int]]:
    """The spans of the smallest parts between `&&` and `||`, outside of texts and macros."""
    masked = _TEXT.sub(lambda found: "x" * len(found[0]), text)
    spans, start, open_calls = [], 0, []
    at = 0
    while at < len(masked):
        sign = masked[at]
        if sign in "([":
            is_group = sign == "(" and not re.search(r"[\w]$", masked[:at])
            open_calls.append(is_group)
            if is_group:
                start = at + 1
        elif sign in ")]" and open_calls:
            if open_calls.pop():
                spans.append((start, at))
                start = -1
        elif masked[at : at + 2] in ("&&", "||") and all(open_calls):
            if start >= 0:
                spans.append((start, at))
            start = at = at + 2
            continue
        at += 1
    if start >= 0:
        spans.append((start, len(text)))
    return [(start, end) for start, end in spans if text[start:end].strip()]


def listed(text: str) -> Iterator[tuple[int, int, str]]:
    """The texts of lists of at least two, with the comma next to each."""
    found = list(_TEXT.finditer(text))
    for number, match in enumerate(found):
        before = text[: match.start()].rstrip()[-1:]
        behind = re.match(r"\s*,\s*", text[match.end() :])
        if before in ("[", ",") and behind is not None and before != "(":
            yield match.start(), match.end() + len(behind[0]), match[0]
        elif before == "," and text[match.end() :].lstrip()[:1] == "]":
            comma = text.rindex(",", 0, match.start())
            yield comma, found[number].end(), match[0]


def is_killed(mutant: Mutant, cases: list[Case]) -> bool | None:
    """Whether a test notices a change; None if the change isn't a valid document."""
    try:
        runner = Runner(load_definitions(mutant.definitions), ("native",))
    except DefinitionsError:
        return None
    return any(not runner.run(case).has_passed for case in cases)


def main(arguments: list[str]) -> int:
    """Print the survivors of each pack, and the share of changes that are noticed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pack_mutants", description=__doc__)
    parser.add_argument("packs", nargs="*", metavar="NAME", help="only these packs")
    options = parser.parse_args(arguments)
    killed = total = 0
    for name in options.packs or BUNDLED:
        pack = bundled_pack(name)
        files = find_files([pack.folder / "tests"])
        cases = [case for file in files for case in load_tests(file).cases]
        results = [(each.place, is_killed(each, cases)) for each in mutants(pack)]
        valid = [(place, result) for place, result in results if result is not None]
        survivors = [place for place, result in valid if not result]
        print(f"{name}: {len(valid) - len(survivors)} of {len(valid)} killed")
        for place in survivors:
            print(f"  {place}")
        killed += len(valid) - len(survivors)
        total += len(valid)
    print(f"all: {killed} of {total} killed, {killed / max(total, 1):.1%}")
    return 0 if killed >= LEAST_KILLED * total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
