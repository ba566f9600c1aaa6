"""Schemathesis against a whole service: ``python tests/service/api_fuzzing.py --examples 500``."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import attrs
from access_world import World, world

from tidegate_server.routing.routes import ROUTES

HERE = Path(__file__).parent
ALONE = "examples,coverage,fuzzing"
"""The phases that call one operation at a time."""
CONFIGURATION = """
hooks = "api_hooks"
continue-on-failure = true
request-timeout = 30.0

[auth.openapi.operator]
bearer = "{token}"

[auth.openapi.apiKey]
api_key = "{key}"

[phases.coverage]
# The access matrix sends every method to every path.
unexpected-methods = []

[checks]
# Bodies past the bound of a route are refused before they are looked at.
negative_data_rejection.expected-statuses = [
    "400", "401", "403", "404", "405", "408", "412", "413", "415", "422", "429", "431",
]
# A long run outlives the challenge that it knows.
positive_data_acceptance.expected-statuses = [
    "2xx", "3xx", "401", "403", "404", "409", "410", "429", "5xx",
]
"""


def run(directory: Path, examples: int, *options: str) -> subprocess.CompletedProcess[str]:
    """One run over every operation, against a service of its own.

    Args:
        directory: empty; the service has its data and log there.
        examples: of each operation, positive and negative.
        options: further ones of ``schemathesis run``.
    """
    with world(directory) as made:
        return _run(made, directory, examples, options)


@attrs.frozen
class Run:
    """The results of schemathesis.

    Attributes:
        of: what was called.
        report: what it printed when it found something, else nothing.
        cases: as it counts them.
    """

    of: str
    report: str
    cases: str


def run_each(directory: Path, examples: int, at_once: int, *options: str) -> Iterator[Run]:
    """A run for each path and one for calls after each other, all against one service.

    A long run over everything at once shows nothing before its end.

    Args:
        directory, examples, options: as for `run`.
        at_once: processes of schemathesis, each with a path of its own.
    """
    # The run begins with the document, which is therefore not called again.
    paths = dict.fromkeys(path for route in ROUTES for path in route.paths)
    del paths["/openapi.json"]
    alone = {path: ("--include-path", path, "--phases", ALONE) for path in paths}
    with world(directory) as made, ThreadPoolExecutor(at_once) as pool:

        def one(name: str, chosen: tuple[str, ...]) -> Run:
            own = Path(tempfile.mkdtemp(dir=directory))
            done = _run(made, own, examples, (*chosen, *options))
            cases = re.search(r".* generated, .*", done.stdout)
            report = done.stdout + done.stderr if done.returncode else ""
            return Run(name, report, cases[0].strip() if cases else "no cases")

        runs = {**alone, "calls after each other": ("--phases", "stateful")}
        for done in as_completed([pool.submit(one, *run) for run in runs.items()]):
            yield done.result()


def _run(
    made: World, directory: Path, examples: int, options: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    base_url, owner = made.connection.base_url, made.own.owner
    configuration = directory / "schemathesis.toml"
    token = owner.token(lifetime=86_400)
    configuration.write_text(CONFIGURATION.format(token=token, key=made.own.key))
    given = {
        "base_url": base_url,
        "ids": made.own.ids,
        "token": token,
        "spare_token": made.people["spare"].token(lifetime=86_400),
    }
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        *("--config-file", str(configuration), "run", f"{base_url}/openapi.json"),
        *("--max-examples", str(examples), *options),
    ]
    environment = {**os.environ, "PYTHONPATH": str(HERE), "TIDEGATE_FUZZ": json.dumps(given)}
    return subprocess.run(
        command, env=environment, cwd=directory, capture_output=True, text=True, check=False
    )


def main() -> None:
    """Run, print what schemathesis finds as it comes, and fail when it found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=2)
    arguments, options = parser.parse_known_args()
    started, found = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="tidegate-fuzz-") as directory:
        for done in run_each(Path(directory), arguments.examples, arguments.at_once, *options):
            found += bool(done.report)
            seconds = time.monotonic() - started
            print(f"{seconds:6.0f} s  {done.of}: {done.cases}", done.report, flush=True)
    sys.exit(f"{found} of the runs found something" if found else 0)


if __name__ == "__main__":
    main()
