"""``tidegate test``: tests of policies."""

from __future__ import annotations

import difflib
import gzip
import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from tidegate.cli.documents import read_definitions
from tidegate.cli.findings.report import FindingsError, refused_document
from tidegate.cli.output import errors, json_option, print_json, write_file
from tidegate.cli.policies.coverage import coverage_options, report_coverage
from tidegate.cli.policies.covered import Covered, coverage_json, print_coverage
from tidegate.cli.policies.results import NotRun, print_result, print_totals, to_json, to_junit
from tidegate.errors import DefinitionsError, EventError
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain.coverage import Coverage
from tidegate.testing.policies import TestsError
from tidegate.testing.policies.finding import find_files
from tidegate.testing.policies.reading import load_tests
from tidegate.testing.policies.running import EVALUATORS, Runner, events_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.evaluation.rules import Evaluator
    from tidegate.policy.definitions.model import Definitions
    from tidegate.testing.policies.reading import Case, TestFile
    from tidegate.testing.policies.running import Result

POLL_SECONDS = 0.5
BOTH = "both"


def _pattern(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> re.Pattern[str]:
    try:
        return re.compile(text or "")
    except re.error as error:
        raise click.BadParameter(f"`{text}` isn't a regular expression: {error}") from None


@attrs.define
class _Run:
    """One run over all files.

    Attributes:
        wanted: names of tests that run match it.
        evaluators: the evaluators that decide.
        update: whether to write files of expected decisions.
        as_text: whether to print each result.
        results: the results so far.
        not_run: the files that could not run.
        watched: every file that the results depend on.
        covered: what was exercised of each file of definitions; None without coverage.
    """

    wanted: re.Pattern[str]
    evaluators: tuple[Evaluator, ...]
    update: bool
    as_text: bool
    results: list[Result] = attrs.field(factory=list)
    not_run: list[NotRun] = attrs.field(factory=list)
    watched: set[Path] = attrs.field(factory=set)
    covered: dict[Path, Covered] | None = None

    def over(self, files: Iterable[Path]) -> int:
        """Run the tests of all files; return the exit code."""
        for file in files:
            self.watched.add(file)
            try:
                self._file(_load(file))
            except FindingsError as error:
                self._cannot_run(file, str(error))
            except (TestsError, click.UsageError) as error:
                message = error.message if isinstance(error, click.UsageError) else str(error)
                self._cannot_run(file, message)
        if not self.results and not self.not_run:
            errors.print("error: no test has a name like that", style="red", markup=False)
            return 2
        return 2 if self.not_run else 1 if any(not each.has_passed for each in self.results) else 0

    def _file(self, tests: TestFile) -> None:
        self.watched |= tests.files
        cases = [each for each in tests.cases if self.wanted.search(each.name)]
        if not cases:
            return
        definitions = read_definitions(str(tests.definitions))
        runner = Runner(definitions, self.evaluators)
        for case in cases:
            result = self._updated(runner, case) if self.update else runner.run(case)
            self.results.append(result)
            if self.covered is not None:
                self._cover(self.covered, tests.definitions, definitions, case)
            if self.as_text:
                print_result(result)

    def _cover(
        self, covered: dict[Path, Covered], file: Path, definitions: Definitions, case: Case
    ) -> None:
        """Count what a test exercises."""
        known = file.resolve()
        if known not in covered:
            counted = Coverage(compile_definitions(definitions))
            covered[known] = Covered(file, definitions, counted)
        coverage = covered[known].coverage
        coverage.begin()
        for sent in events_of(case):
            with suppress(EventError):
                coverage.decide(sent.event, sent.at)

    def _updated(self, runner: Runner, case: Case) -> Result:
        """Run a test, and write the file of its decisions."""
        replay = case.replay
        if replay is None or replay.decisions is None:
            return runner.run(case)
        result = runner.run(attrs.evolve(case, replay=attrs.evolve(replay, decisions=None)))
        if result.failure is None and result.decisions is not None:
            _write(replay.decisions, result.decisions)
        return result

    def _cannot_run(self, file: Path, message: str) -> None:
        self.not_run.append(NotRun(file, message))
        errors.print(f"error: {file} could not run:\n{message}", style="red", markup=False)


def _load(file: Path) -> TestFile:
    try:
        return load_tests(file)
    except DefinitionsError as error:
        raise refused_document(str(file), error) from None
    except OSError as error:
        raise TestsError(f"`{file}` cannot be read: {error.strerror}") from None


def _write(file: Path, decisions: bytes) -> None:
    """Write a file of expected decisions, and show the changes on standard error."""
    is_packed = file.name.endswith(".gz")
    before = b""
    if file.exists():
        content = file.read_bytes()
        before = gzip.decompress(content) if is_packed else content
    if before == decisions:
        return
    old, new = (text.decode(errors="replace").splitlines() for text in (before, decisions))
    for line in difflib.unified_diff(old, new, str(file), str(file), lineterm=""):
        style = {"+": "green", "-": "red"}.get(line[:1])
        errors.print(line, style=style, markup=False)
    write_file(file, gzip.compress(decisions, mtime=0) if is_packed else decisions)


@click.command()
@click.argument("files", nargs=-1)
@click.option(
    "--evaluator",
    type=click.Choice([BOTH, *EVALUATORS]),
    default=BOTH,
    show_default=True,
    help="The Rust evaluator, the Python definition it is held to, or both, which must agree.",
)
@click.option(
    "--filter",
    "wanted",
    metavar="REGEX",
    callback=_pattern,
    help="Run only tests with a name that matches.",
)
@click.option("--watch", is_flag=True, help="Run again whenever a file changes, until Ctrl-C.")
@click.option(
    "--update", is_flag=True, help="Write the files of expected decisions, and show the changes."
)
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the results as JUnit XML too.",
)
@click.option("--coverage", is_flag=True, help="Report what the tests exercise.")
@coverage_options
@json_option
def test(
    files: tuple[str, ...],
    evaluator: str,
    wanted: re.Pattern[str],
    watch: bool,
    update: bool,
    junit: Path | None,
    coverage: bool,
    fail_under: float | None,
    cobertura: Path | None,
    as_json: bool,
) -> None:
    """Run the tests of policies in FILES, folders and patterns; the current folder when left out.

    Exit codes: 0 if all tests passed, 1 if some failed, 2 if some could not run.
    """
    evaluators: tuple[Evaluator, ...] = tuple(
        each for each in EVALUATORS if evaluator in (BOTH, each)
    )
    if not coverage and (fail_under is not None or cobertura is not None):
        raise click.UsageError("--fail-under and --cobertura need --coverage")
    while True:
        run = _Run(wanted, evaluators, update, not as_json, covered={} if coverage else None)
        try:
            code = run.over(find_files(files or (".",)))
        except TestsError as error:
            if not watch:
                raise click.UsageError(str(error)) from None
            code = 2
            errors.print(f"error: {error}", style="red", markup=False)
        if junit is not None:
            write_file(junit, to_junit(run.results, run.not_run))
        covered = list((run.covered or {}).values())
        if as_json:
            found = {"coverage": [coverage_json(each) for each in covered]} if coverage else {}
            print_json(to_json(run.results, run.not_run) | found)
        else:
            for each in covered:
                print_coverage(each)
            print_totals(run.results, run.not_run)
        if coverage and not report_coverage(covered, fail_under, cobertura):
            code = max(code, 1)
        if not watch:
            sys.exit(code)
        _wait(files, run.watched)


def _wait(files: tuple[str, ...], watched: set[Path]) -> None:
    """Wait for a change of a file, or for another one."""
    errors.print("waiting for a change; Ctrl-C ends", style="dim", markup=False)
    before = _state(files, watched)
    while _state(files, watched) == before:
        time.sleep(POLL_SECONDS)


def _state(files: tuple[str, ...], watched: set[Path]) -> dict[Path, tuple[int, int] | None]:
    try:
        found = set(find_files(files or (".",)))
    except TestsError:
        found = set()
    return {file: _stamp(file) for file in found | watched}


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
