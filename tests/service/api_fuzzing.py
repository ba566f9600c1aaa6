"""Schemathesis against a whole service: ``python tests/service/api_fuzzing.py --examples 500``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from access_world import World, world

HERE = Path(__file__).parent
CONFIGURATION = """
hooks = "api_hooks"
continue-on-failure = true
request-timeout = 30.0

[auth.openapi.operator]
bearer = "{token}"

[auth.openapi.apiKey]
api_key = "{key}"

[checks]
# Bodies past the bound of a route are refused before they are looked at.
negative_data_rejection.expected-statuses = [
    "400", "401", "403", "404", "405", "408", "412", "413", "415", "422", "429",
]
"""


def run(
    directory: Path, examples: int, *options: str, is_shown: bool = False
) -> subprocess.CompletedProcess[str]:
    """One run over every operation, against a service of its own.

    Args:
        directory: empty; the service has its data and log there.
        examples: of each operation, positive and negative.
        options: further ones of ``schemathesis run``.
        is_shown: what it prints is printed as it comes, and not kept.
    """
    with world(directory) as made:
        return _run(made, directory, examples, options, is_shown)


def _run(
    made: World, directory: Path, examples: int, options: tuple[str, ...], is_shown: bool
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
        command, env=environment, cwd=directory, capture_output=not is_shown, text=True, check=False
    )


def main() -> None:
    """Run, print what schemathesis says, and fail when it found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=500)
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="tidegate-fuzz-") as directory:
        done = run(Path(directory), arguments.examples, *options, is_shown=True)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
