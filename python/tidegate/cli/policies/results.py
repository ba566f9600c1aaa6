"""Results of policy tests as text, JSON and JUnit XML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import attrs

from tidegate.cli.output import console, counted
from tidegate.testing.policies.text import failure_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.testing.policies.running import Result

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot have, not even escaped."""


@attrs.frozen
class NotRun:
    """A file of tests that could not run, and why."""

    file: Path
    message: str


def print_result(result: Result) -> None:
    """A line for a test, and its failure below."""
    word, style = ("ok", "green") if result.failure is None else ("FAIL", "bold red")
    console.print(f"{word:<4}", style=style, end="")
    seconds = f"{result.seconds * 1000:.0f} ms"
    console.print(f"  {result.case.file}: {result.case.name} ({seconds})", markup=False)
    if result.failure is not None:
        text = failure_text(result, result.failure)
        console.print(
            "\n".join(f"      {line}".rstrip() for line in text.split("\n")), markup=False
        )


def print_totals(results: Sequence[Result], not_run: Sequence[NotRun]) -> None:
    """The last line."""
    failed = sum(not each.has_passed for each in results)
    unread = f", {counted(len(not_run), 'file')} could not run" if not_run else ""
    text = f"{len(results) - failed} passed, {failed} failed{unread}"
    console.print(text, style="bold red" if failed or not_run else "bold green", markup=False)


def to_json(results: Sequence[Result], not_run: Sequence[NotRun]) -> dict[str, Any]:
    """All results as JSON data."""
    failed = sum(not each.has_passed for each in results)
    return {
        "passed": len(results) - failed,
        "failed": failed,
        "not_run": [{"file": str(each.file), "error": each.message} for each in not_run],
        "tests": [_test(each) for each in results],
    }


def _test(result: Result) -> dict[str, Any]:
    failure = result.failure
    shown = None
    if failure is not None:
        explanation = failure.explanation
        shown = {
            "line": failure.line,
            "place": failure.place,
            "time": failure.time,
            "evaluator": failure.evaluator,
            "differences": [attrs.asdict(each) for each in failure.differences],
            "explanation": explanation and explanation.to_dict(),
        }
    return {
        "file": str(result.case.file),
        "line": result.case.line,
        "name": result.case.name,
        "passed": result.has_passed,
        "events": result.events,
        "seconds": round(result.seconds, 6),
        "failure": shown,
    }


def to_junit(results: Sequence[Result], not_run: Sequence[NotRun]) -> bytes:
    """All results as JUnit XML, a suite for each file."""
    root = ElementTree.Element("testsuites", name="tidegate test")
    by_file: dict[Path, list[Result]] = {}
    for each in results:
        by_file.setdefault(each.case.file, []).append(each)
    for file, found in by_file.items():
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(str(file)))
        for result in found:
            _add_case(suite, result)
        _count(suite, len(found), failures=sum(not each.has_passed for each in found))
    for missing in not_run:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(str(missing.file)))
        case = ElementTree.SubElement(
            suite, "testcase", name="the file can be run", classname=_xml(str(missing.file))
        )
        ElementTree.SubElement(case, "error", message=_xml(missing.message))
        _count(suite, 1, errors=1)
    failures = sum(not each.has_passed for each in results)
    _count(root, len(results) + len(not_run), failures=failures, errors=len(not_run))
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _add_case(suite: ElementTree.Element, result: Result) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        name=_xml(result.case.name),
        classname=_xml(str(result.case.file)),
        file=_xml(str(result.case.file)),
        line=str(result.case.line),
        time=f"{result.seconds:.6f}",
    )
    if result.failure is not None:
        text = failure_text(result, result.failure)
        first = text.partition("\n")[0]
        ElementTree.SubElement(case, "failure", message=_xml(first)).text = _xml(text)


def _count(suite: ElementTree.Element, tests: int, *, failures: int = 0, errors: int = 0) -> None:
    suite.set("tests", str(tests))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
